import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'

/** First bytes of an index. */
export const indexMark = Buffer.from('svc breached passwords 1\n')

/**
 * Length of an entry: the first bytes of a SHA-1 hash, which is what leak lists contain. In an index of a billion passwords, one
 * of 18 billion others matches by chance.
 */
export const entryLength = 8

/** Number of entries that one read returns. */
const blockEntries = 512

/** An open index: sorted entries behind the mark. */
interface Index {
  path: string
  file: number
  count: number
  /** Differs once another file is at the path. */
  version: string
}

let current: Index | null = null

/** Returns the entry of a hash. */
export const entryOfHash = (sha1: Buffer): Buffer => sha1.subarray(0, entryLength)

/** Returns the entry of a password. */
export const entryOfPassword = (password: string): Buffer => entryOfHash(createHash('sha1').update(password).digest())

/** Returns why a file is no index, or null. */
export function breachedIndexProblem(path: string): string | null {
  try {
    open(path)
    return null
  } catch (error) {
    return error instanceof NotAnIndex ? 'must be a file that "svc passwords:index" wrote' : 'must be a readable file'
  }
}

/** Tests whether an index has a password. After another file takes the place of the index, it reads that one. */
export function isBreached(path: string, password: string): boolean {
  const index = latest(path)
  return index !== null && has(index, entryOfPassword(password))
}

class NotAnIndex extends Error {}

/** The index at a path. While the path has no valid index, for example during a copy, the last one stays in use. */
function latest(path: string): Index | null {
  try {
    return open(path)
  } catch {
    return current?.path === path ? current : null
  }
}

function open(path: string): Index {
  const { ino, size, mtimeMs } = statSync(path)
  const version = `${ino} ${size} ${mtimeMs}`
  if (current?.path === path && current.version === version) return current
  const file = openSync(path, 'r')
  try {
    const bytes = fstatSync(file).size - indexMark.length
    if (!read(file, 0, indexMark.length).equals(indexMark) || bytes % entryLength !== 0) throw new NotAnIndex()
    if (current) closeSync(current.file)
    current = { path, file, count: bytes / entryLength, version }
    return current
  } catch (error) {
    if (current?.file !== file) closeSync(file)
    throw error
  }
}

function read(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, readSync(file, bytes, 0, length, position))
}

/** Place of an entry among all possible ones, without its last bytes. */
const placeOf = (entry: Buffer): number => entry.readUIntBE(0, 6)

/** Searches by interpolation: hashes are spread evenly, so two or three reads suffice for a billion entries. */
function has({ file, count }: Index, wanted: Buffer): boolean {
  let low = { at: 0, place: 0 }
  let high = { at: count, place: 2 ** 48 }
  while (low.at < high.at) {
    const span = high.at - low.at
    const share = (placeOf(wanted) - low.place) / Math.max(1, high.place - low.place)
    const length = Math.min(span, blockEntries)
    const middle = low.at + Math.floor(share * span - length / 2)
    const start = Math.max(low.at, Math.min(middle, high.at - length))
    const block = read(file, indexMark.length + start * entryLength, length * entryLength)
    const entry = (index: number) => block.subarray(index * entryLength, (index + 1) * entryLength)
    // Shorter than its size was at the start.
    if (block.length < length * entryLength) return false
    if (wanted.compare(entry(0)) < 0) high = { at: start, place: placeOf(entry(0)) }
    else if (wanted.compare(entry(length - 1)) > 0) low = { at: start + length, place: placeOf(entry(length - 1)) }
    else return Array.from({ length }, (_, index) => entry(index)).some((one) => one.equals(wanted))
  }
  return false
}
