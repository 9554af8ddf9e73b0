// lane: all
import { spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, mkdirSync, rmSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { temporaryDirectory } from './process.ts'

const page = 4096

/** A disk that a test can fill. */
export interface SmallDisk {
  folder: string
  /** Fills the disk, except for a number of pages of 4 KB. */
  fill(free?: number): void
  empty(): void
}

/** Mounts a small disk for the test; null where the system does not allow it. */
export function smallDisk(t: Test, megabytes = 24): SmallDisk | null {
  const folder = join(temporaryDirectory(t), 'disk')
  mkdirSync(folder)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]).status !== 0) return null
  // Servers of other users reach it.
  chmodSync(dirname(folder), 0o755)
  t.teardown(() => spawnSync('umount', ['--lazy', folder]))
  const ballast = join(folder, 'ballast')
  return {
    folder,
    fill: (free = 0) => {
      const chunk = Buffer.alloc(page)
      let size = 0
      try {
        for (;;) {
          appendFileSync(ballast, chunk)
          size += page
        }
      } catch {
        // The disk is full.
      }
      if (free > 0) truncateSync(ballast, size - free * page)
    },
    empty: () => rmSync(ballast),
  }
}
