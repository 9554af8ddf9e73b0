import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { sha256Hex } from '../src/platform/crypto/hash.ts'

/** The list of checksums, for `sha256sum --check`. */
const sumsName = 'SHA256SUMS'

/** What all builds of a commit have in common: no owner, no umask, no order of the disk, and the time of the commit. */
const reproducible = ['--sort=name', '--format=gnu', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX']

/** Writes a folder to a `.tar.gz` that is the same for each build. `time`: of all files, in Unix seconds. */
export function archive(folder: string, file: string, time: number): void {
  const args = [...reproducible, `--mtime=@${time}`, '-C', dirname(folder), '-c', basename(folder)]
  const tar = execFileSync('tar', args, { maxBuffer: 2 ** 30 })
  writeFileSync(file, gzipSync(tar, { level: 9 }))
}

export const sha256 = (file: string): string => sha256Hex(readFileSync(file))

/** The names of the files in a folder, and their checksums. */
export const sumsOf = (folder: string): [name: string, sum: string][] =>
  readdirSync(folder)
    .sort()
    .map((name) => [name, sha256(join(folder, name))])

/** Adds the checksums of all files in a folder to it. */
export function addSums(folder: string): void {
  const lines = sumsOf(folder).map(([name, sum]) => `${sum}  ${name}\n`)
  writeFileSync(join(folder, sumsName), lines.join(''))
}
