import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandError } from '../../contract/command.ts'
import type { PlannedFile } from './plan.ts'

/** What became of a file. */
export type Outcome = 'wrote' | 'replaced' | 'unchanged' | 'kept'

interface Options {
  /** Whether to replace a file that has other content. */
  mayReplace(path: string): Promise<boolean>
  /** User and group of the secrets; null for those of the process. */
  owner: readonly [user: number, group: number] | null
}

/** Writes a file below the directory. Replaces an existing one only if `mayReplace` allows it. */
export async function write(directory: string, file: PlannedFile, { mayReplace, owner }: Options): Promise<Outcome> {
  const path = join(directory, file.path)
  try {
    makeFolder(directory, dirname(path), owner)
    const outcome = await outcomeOf(path, file, mayReplace)
    if (outcome === 'wrote' || outcome === 'replaced') {
      // A new file in place of the old one: svc never reads an incomplete file, and a link is not followed.
      const temporary = `${path}.${process.pid}.new`
      writeFileSync(temporary, file.text, { mode: file.isSecret ? 0o600 : 0o644, flag: 'wx' })
      renameSync(temporary, path)
    }
    if (file.isSecret) chmodSync(path, 0o600)
    if (file.isSecret && owner) chownSync(path, ...owner)
    return outcome
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Makes the folder of a file. Folders inside the directory are for their owner only. */
function makeFolder(directory: string, folder: string, owner: Options['owner']): void {
  mkdirSync(folder, { recursive: true })
  if (folder === directory) return
  if (!lstatSync(folder).isDirectory()) throw new CommandError(`${folder} is not a directory.`)
  chmodSync(folder, 0o700)
  if (owner) chownSync(folder, ...owner)
}

async function outcomeOf(path: string, { path: name, text }: PlannedFile, mayReplace: Options['mayReplace']) {
  if (!existsSync(path)) return 'wrote'
  if (readFileSync(path, 'utf8').trim() === text.trim()) return 'unchanged'
  return (await mayReplace(name)) ? 'replaced' : 'kept'
}
