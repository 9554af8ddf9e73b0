import { closeSync, createReadStream, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { CommandError } from '../../contract/command.ts'
import { fileReason } from '../../platform/config/file-reason.ts'
import { entryLength, entryOfHash, entryOfPassword, indexMark } from '../../platform/crypto/breached-passwords.ts'
import { canonicalPassword } from '../../platform/crypto/canonical-password.ts'

/** Number of entries that one write takes. */
const batch = 8_192

/** Writes sorted entries to a new index, each once, and puts it in place when it is complete. */
class IndexFile {
  readonly #path: string
  readonly #file: number
  readonly #bytes = Buffer.alloc(batch * entryLength)
  #used = 0
  #last = Buffer.alloc(0)
  count = 0

  constructor(path: string) {
    this.#path = path
    this.#file = openSync(`${path}.part`, 'w', 0o644)
    writeSync(this.#file, indexMark)
  }

  /** Returns false for an entry that belongs before the last one. */
  add(entry: Buffer): boolean {
    const order = entry.compare(this.#last)
    if (order <= 0) return order === 0
    this.#last = Buffer.from(entry)
    this.#used += entry.copy(this.#bytes, this.#used)
    this.count++
    if (this.#used === this.#bytes.length) this.#flush()
    return true
  }

  finish(): void {
    this.#flush()
    closeSync(this.#file)
    renameSync(`${this.#path}.part`, this.#path)
  }

  discard(): void {
    closeSync(this.#file)
    rmSync(`${this.#path}.part`)
  }

  #flush(): void {
    for (let done = 0; done < this.#used; ) done += writeSync(this.#file, this.#bytes, done, this.#used - done)
    this.#used = 0
  }
}

/** Reads lines that begin with a SHA-1 hash in hexadecimal, in the order of the hashes. */
async function addHashes(index: IndexFile, lines: AsyncIterable<string>): Promise<void> {
  let number = 0
  for await (const line of lines) {
    number++
    if (line.trim() === '') continue
    const [, hash] = /^([0-9a-f]{40})(?::\d+)?\s*$/i.exec(line) ?? []
    if (hash === undefined) {
      throw new CommandError(`Line ${number} is no SHA-1 hash in hexadecimal. Use --passwords for a list of passwords.`)
    }
    if (!index.add(entryOfHash(Buffer.from(hash, 'hex')))) {
      throw new CommandError(`Line ${number} is not in order. Sort the file first: LC_ALL=C sort`)
    }
  }
}

/** Reads a password from each line, in any order. */
async function addPasswords(index: IndexFile, lines: AsyncIterable<string>): Promise<void> {
  const entries: bigint[] = []
  for await (const line of lines) {
    if (line !== '') entries.push(entryOfPassword(canonicalPassword(line)).readBigUInt64BE())
  }
  const entry = Buffer.alloc(entryLength)
  for (const value of BigUint64Array.from(entries).sort()) {
    entry.writeBigUInt64BE(value)
    index.add(entry)
  }
}

/** Writes an index of the passwords or hashes in a file; returns their number. Throws `CommandError`. */
export async function indexPasswords(source: string, target: string, arePasswords: boolean): Promise<number> {
  const index = createIndex(target)
  try {
    const input = createReadStream(source)
    await new Promise<void>((resolve, reject) => void input.once('open', () => resolve()).once('error', reject))
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
    await (arePasswords ? addPasswords : addHashes)(index, lines)
    index.finish()
    return index.count
  } catch (error) {
    index.discard()
    if (error instanceof CommandError) throw error
    throw new CommandError(`"${source}" cannot be read: ${fileReason(error)}`)
  }
}

function createIndex(target: string): IndexFile {
  try {
    return new IndexFile(target)
  } catch (error) {
    throw new CommandError(`"${target}" cannot be written: ${fileReason(error)}`)
  }
}
