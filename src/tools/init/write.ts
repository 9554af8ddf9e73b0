import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandError } from '../../contract/command.ts'
import type { PlannedFile } from './plan.ts'

/** What became of a file. */
export type Outcome = 'wrote' | 'replaced' | 'unchanged' | 'kept'

interface Options {
  /** Whether to replace a file that has other content. */
  mayReplace(path: string): Promise<boolean>
  /** User and group of new secrets; null for those of the process. */
  owner: readonly [user: number, group: number] | null
}

/** Writes a file below the directory. Replaces an existing one only if `mayReplace` allows it. */
export async function write(directory: string, file: PlannedFile, { mayReplace, owner }: Options): Promise<Outcome> {
  const path = join(directory, file.path)
  const found = existsSync(path) ? readFileSync(path, 'utf8') : null
  if (found === file.text) return 'unchanged'
  if (found !== null && !(await mayReplace(file.path))) return 'kept'
  try {
    const folder = dirname(path)
    const isNewFolder = mkdirSync(folder, { recursive: true }) !== undefined
    if (isNewFolder && owner && folder !== directory) chownSync(folder, ...owner)
    if (isNewFolder && folder !== directory) chmodSync(folder, 0o700)
    // `wx` follows no link that someone put there meanwhile.
    writeFileSync(path, file.text, { mode: file.isSecret ? 0o600 : 0o644, flag: found === null ? 'wx' : 'w' })
    if (owner && file.isSecret) chownSync(path, ...owner)
  } catch (error) {
    throw new CommandError(`${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
  return found === null ? 'wrote' : 'replaced'
}
