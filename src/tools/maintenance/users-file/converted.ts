import { isMapping } from '../../../platform/config/walk.ts'

/** A user of another server, as its file describes it. */
export interface ConvertedUser {
  /** How the file names the user. */
  key: string
  email: string | null
  name: string
  username: string | null
  givenName: string | null
  familyName: string | null
  /** In the format of the other server that svc reads, or null without one. */
  passwordHash: string | null
  groups: string[]
  verified: boolean
  disabled: boolean
  /** Secret of the authenticator app in base32, or null without one that svc supports: SHA-1, six digits, 30 seconds. */
  authenticator: string | null
  links: readonly IdentityLink[]
  /** What svc cannot take over, and why. */
  left: string[]
}

/** An account at an identity provider. */
export interface IdentityLink {
  /** Name of the provider at svc; null if it gives svc another id of the user. */
  provider: string | null
  /** Its name at the other server. */
  given: string
  /** The id of the user there. */
  id: string
}

/** The file is not what the command expects. */
export class FileError extends Error {}

/** A text, or null for anything else and for an empty one. */
export const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null

/** The texts of a list. */
export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.flatMap((one) => textOf(one) ?? []) : []

/** Reads JSON. Throws `FileError` for other text. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new FileError(`The file is not JSON: ${(error as Error).message}`)
  }
}

/** Reads records: a JSON array, or one JSON object per line. Throws `FileError` with the expectation for another file. */
export function recordsIn(text: string, expectation: string): Record<string, unknown>[] {
  const isArray = text.trimStart().startsWith('[')
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const records: unknown = isArray ? jsonOf(text) : lines.map(jsonOf)
  if (!Array.isArray(records) || records.length === 0 || !records.every(isMapping)) throw new FileError(expectation)
  return records
}
