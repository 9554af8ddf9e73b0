import { codesOf, some } from './unavailable.ts'

/** Foreign key violation codes of the ORM, its drivers, PostgreSQL and SQLite. */
const FOREIGN_KEY = new Set(['P2003', 'ForeignKeyConstraintViolation', '23503', '787'])

/** Tests for a foreign key violation because the user was deleted meanwhile. All foreign keys refer to users. */
export const isMissingUser = (error: unknown): boolean =>
  some(error, (part) => codesOf(part).some((code) => FOREIGN_KEY.has(code)))
