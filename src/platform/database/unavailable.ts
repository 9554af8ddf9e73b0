import { primaryCode } from './sqlite-errors.ts'

// SQLite's busy error is not included: a transaction waits for the lock before its work begins.
const CONFLICTS = new Set(['P2034', '40001', '40P01', 'TransactionWriteConflict'])

/** A connection that ended, or a server that stopped answering, while a statement may have run. */
const LOST = new Set([
  ...['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN'],
  ...['P1008', 'P1017', 'ConnectionClosed', 'SocketTimeout'],
  // PostgreSQL: connection exceptions, and a server that ends while it commits.
  ...['08000', '08003', '08006', '57P01', '57P02'],
])

const UNAVAILABLE = new Set([
  ...LOST,
  // The network
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'],
  // Prisma
  ...['P1001', 'P1002', 'P2024', 'P2037'],
  ...['DatabaseNotReachable', 'TooManyConnections'],
  // PostgreSQL: connection exceptions, too many connections, shutting down or starting up, out of disk or memory
  ...['08001', '08004', '53100', '53200', '53300', '57P03'],
  // PostgreSQL: a standby, or a connection that the server closed because it was idle
  ...['25006', '25P03', '57P05'],
])

/** SQLite's primary codes BUSY, LOCKED, IOERR, FULL and CANTOPEN. */
const SQLITE_UNAVAILABLE = new Set([5, 6, 10, 13, 14])

// Errors without a code: from the PostgreSQL driver, and from Prisma when a transaction times out.
const MESSAGES = [
  /^Connection terminated/,
  /^timeout exceeded when trying to connect/,
  /^timeout expired/,
  /^Query read timeout/,
  /^Client has encountered a connection error/,
  /^Client was closed and is not queryable/,
  /^Cannot use a pool after calling end/,
  /Unable to start a transaction in the given time/,
  /on an expired transaction/,
]

/** Tests whether the database is temporarily unavailable, so that the request can be retried later. */
export function isUnavailable(error: unknown): boolean {
  return some(error, (part) => {
    const codes = codesOf(part)
    if (codes.some((code) => UNAVAILABLE.has(code) || CONFLICTS.has(code))) return true
    // PgBouncer closes a connection with this code when it has no server for it.
    if (codes.includes('08P01') && part.severity === 'FATAL') return true
    const sqlite = primaryCode(part) ?? sqliteCodeOf(part)
    if (sqlite !== undefined && SQLITE_UNAVAILABLE.has(sqlite)) return true
    return part instanceof Error && MESSAGES.some((message) => message.test(part.message))
  })
}

/** Tests whether the connection ended before the database answered. */
export const isConnectionLost = (error: unknown): boolean =>
  some(error, (part) => {
    const isLost = codesOf(part).some((code) => LOST.has(code))
    return isLost || (part instanceof Error && /^(Connection terminated|Query read timeout)/.test(part.message))
  })

/** Tests whether a transaction failed because of a conflict and may succeed when retried. */
export function isConflict(error: unknown): boolean {
  return some(error, (part) => codesOf(part).some((code) => CONFLICTS.has(code)))
}

type Part = Record<string, unknown>

/** Tests all parts of an error: Prisma wraps the driver's error in different places. */
export function some(error: unknown, test: (part: Part) => boolean, depth = 0): boolean {
  if (depth > 6 || typeof error !== 'object' || error === null) return false
  const part = error as Part
  const inner = [part.cause, part.meta, part.driverAdapterError, ...(Array.isArray(part.errors) ? part.errors : [])]
  return test(part) || inner.some((deeper) => some(deeper, test, depth + 1))
}

/** Returns the codes in one part of an error. */
export function codesOf(part: Part): string[] {
  return [part.code, part.errorCode, part.originalCode, part.kind].filter((code) => typeof code === 'string')
}

function sqliteCodeOf(part: Part): number | undefined {
  return part.kind === 'sqlite' && typeof part.extendedCode === 'number' ? part.extendedCode & 0xff : undefined
}
