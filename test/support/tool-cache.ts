import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Returns the cache folder of tools, in the home directory. Its name changes with the files that they are built from. */
export function toolFolder(name: string, files: readonly string[]): string {
  const version = files.reduce((hash, file) => hash.update(readFileSync(file)), createHash('sha256')).digest('hex')
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  return join(cache, 'svc', `${name}-${version.slice(0, 16)}`)
}

/** Builds under a temporary name, so that an incomplete build is never used. */
export async function buildInto(folder: string, build: (work: string) => Promise<unknown>): Promise<void> {
  const work = `${folder}.${process.pid}`
  mkdirSync(work, { recursive: true })
  try {
    await build(work)
    renameSync(work, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Runs a program and prints its output to standard error. Rejects if it fails. */
export function runTool(cwd: string, program: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 2, 2], env: { ...process.env, ...env } })
  return new Promise((done, fail) => {
    child.once('error', fail)
    child.once('exit', (code) => (code === 0 ? done() : fail(new Error(`${program} ${args.join(' ')} failed`))))
  })
}
