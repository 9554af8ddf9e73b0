import { codesOf, some } from './unavailable.ts'

/** How the ORM, its drivers, PostgreSQL and SQLite name a foreign key that leads nowhere. */
const FOREIGN_KEY = new Set(['P2003', 'ForeignKeyConstraintViolation', '23503', '787'])

/** Whether a row was refused because its user was deleted a moment before: users are all that rows refer to. */
export const isMissingUser = (error: unknown): boolean =>
  some(error, (part) => codesOf(part).some((code) => FOREIGN_KEY.has(code)))
