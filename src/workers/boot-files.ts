import { readSource } from '../config/files.ts'

/** What reading a file returned or threw. */
export type BootFile = { path: string; text: string } | { path: string; message: string; code: string }

/**
 * Reads configuration files and records the results, so that a worker that starts later begins with the configuration of
 * the others. It then applies the changes that they have applied.
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
