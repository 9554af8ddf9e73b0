import { readSource } from '../config/files.ts'

/** What reading a file returned or threw. */
export type BootFile = { path: string; text: string } | { path: string; message: string; code: string }

/**
 * Reads configuration files and records the results. A worker that starts later first loads these results, and then the files
 * of the last reload, so that it gets the same configuration as the other workers.
 */
export class BootFiles {
  readonly all: BootFile[] = []
  readonly #source: (path: string) => string

  constructor(source = readSource) {
    this.#source = source
  }

  readonly read = (path: string): string => {
    try {
      const text = this.#source(path)
      this.all.push({ path, text })
      return text
    } catch (error) {
      const { message, code = '' } = error as NodeJS.ErrnoException
      this.all.push({ path, message, code })
      throw error
    }
  }
}

/** Returns a function that reads recorded files. */
export const readRecorded =
  (files: readonly BootFile[]) =>
  (path: string): string => {
    const file = files.find((each) => each.path === path)
    if (!file) return readSource(path)
    if ('text' in file) return file.text
    throw Object.assign(new Error(file.message), { code: file.code })
  }
