import { closeSync, openSync, statSync } from 'node:fs'
import { DataError } from './values.ts'

/** Throws a DataError that says why the current user cannot read a file, for example one that `docker cp` brought. */
export function requireReadable(file: string): void {
  try {
    closeSync(openSync(file, 'r'))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'ENOENT') throw new DataError(`${file} does not exist.`)
    throw new DataError(
      `${file} cannot be read${whose(file)}. Give it to the user that runs this command, or run it as root.`,
      {
        cause: error,
      },
    )
  }
}

/** Names the owner, if the directory can be read. */
function whose(file: string): string {
  const user = process.geteuid?.()
  try {
    const { uid, mode } = statSync(file)
    return `: it belongs to user ${uid} with mode ${(mode & 0o777).toString(8)}, and this command runs as user ${user}`
  } catch {
    return `: user ${user} may not open its directory`
  }
}
