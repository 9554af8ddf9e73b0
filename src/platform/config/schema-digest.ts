import { createHash } from 'node:crypto'
import type { Schema } from './walk.ts'

/** Digest of a schema: SHA-256 in hexadecimal digits. */
export const digestOf = (schema: Schema): string => createHash('sha256').update(JSON.stringify(schema)).digest('hex')
