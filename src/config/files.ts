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

/** Path that `readSource` answers with the files of a directory. */
export const filesOf = (directory: string): string => join(directory, pattern)

/** Returns what to watch for changes of a path: a list of files changes with its directory. */
export const watchedPath = (path: string): string => (basename(path) === pattern ? dirname(path) : path)

/** Maximum size of a file of a directory, in bytes. */
const maxSize = 1_048_576

/** Reads a text file, or with `*.yaml` as its name the list of these files as JSON. */
export function readSource(path: string): string {
  if (basename(path) !== pattern) return readFileSync(path, 'utf8')
  const directory = dirname(path)
  const names = readdirSync(directory).filter((name) => name.endsWith('.yaml') && !name.startsWith('.'))
  return JSON.stringify(names.sort().map((name) => ({ name, problem: problemOf(directory, name) })))
}

/**
 * Other people can write files of the directory. They must not make svc read, and quote in its errors, a file that only svc
 * can read, or wait for a pipe.
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
