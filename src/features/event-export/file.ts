import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Sink } from './sink.ts'

// A link could lead anywhere, and opening a pipe would wait for its reader.
const flags =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Appends lines to a file. Opens it for each batch, so that a rotated file needs no signal. */
export const fileSink = (path: string): Sink => ({
  async write(events) {
    const file = await open(path, flags, 0o600)
    try {
      const found = await file.stat()
      if (!found.isFile()) throw new Error(`${path} is not a regular file`)
      const begin = (await endsWithinLine(file, found.size)) ? '\n' : ''
      try {
        await file.appendFile(begin + events.map(({ json }) => `${json}\n`).join(''))
        await file.datasync()
      } catch (error) {
        // A full disk may have taken a part. The next attempt writes all of it again.
        await file.truncate(found.size).catch(() => undefined)
        throw error
      }
    } finally {
      await file.close()
    }
  },
  close: () => undefined,
})

/** Whether a crash cut off the last line. */
async function endsWithinLine(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] !== 0x0a
}
