import { createHash } from 'node:crypto'
import type { Row } from './values.ts'

const modulus = 2n ** 256n

/** Number and checksum of rows. The order of the rows does not change the checksum. */
export class Checksum {
  #sum = 0n
  #rows = 0

  add(rows: readonly Row[]): void {
    for (const row of rows) {
      const hash = createHash('sha256').update(JSON.stringify(row)).digest('hex')
      // A sum also detects a row that occurs three times instead of once, which XOR would not.
      this.#sum = (this.#sum + BigInt(`0x${hash}`)) % modulus
    }
    this.#rows += rows.length
  }

  get rows(): number {
    return this.#rows
  }

  get text(): string {
    return this.#sum.toString(16).padStart(64, '0')
  }
}
