import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { fileReason } from './file-reason.ts'

/** A file that matches a pattern. */
export interface MatchedFile {
  name: string
  /** Why svc does not read it. */
  problem: string | null
}

/** All configuration files of a directory. */
const pattern = '*.yaml'

/** Path for which `readSource` returns the list of configuration files in a directory. */
export const filesOf = (directory: string): string => join(directory, pattern)

/** Returns the path to watch: for a list of files, its directory. */
export const watchedPath = (path: string): string => (basename(path) === pattern ? dirname(path) : path)

/** Maximum size of a file of a directory, in bytes. */
const maxSize = 1_048_576

/** Reads a text file. If the file name is `*.yaml`, returns the list of matching files as JSON. */
export function readSource(path: string): string {
  if (basename(path) !== pattern) return readFileSync(path, 'utf8')
  const directory = dirname(path)
  const names = readdirSync(directory).filter((name) => name.endsWith('.yaml') && !name.startsWith('.'))
  return JSON.stringify(names.sort().map((name) => ({ name, problem: problemOf(directory, name) })))
}

/**
 * Returns why svc must not read a file. Other teams can write to the directory. A link could make svc quote a file that
 * only svc can read in an error message, and a pipe could make svc wait.
 */
function problemOf(directory: string, name: string): string | null {
  try {
    const file = realpathSync(join(directory, name))
    if (!file.startsWith(realpathSync(directory) + sep)) return 'is a symbolic link to a file outside of its directory'
    const found = statSync(file)
    if (!found.isFile()) return 'is not a regular file'
    if (found.size > maxSize) return 'is larger than 1 MiB'
    return null
  } catch (error) {
    return `cannot be read (${fileReason(error)})`
  }
}
