import { isUniqueViolation } from '../../platform/database/unique.ts'
import { HttpError } from '../../platform/errors.ts'

/** `scimType` of an error (RFC 7644 section 3.12). */
export type ScimType =
  | 'invalidFilter'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'

/** An error of a SCIM request. scim-patch has a `ScimError` of its own. */
export class ScimHttpError extends Error {
  readonly statusCode: number
  readonly scimType: ScimType | undefined

  constructor(statusCode: number, detail: string, scimType?: ScimType) {
    super(detail)
    this.statusCode = statusCode
    this.scimType = scimType
  }
}

/** 400 for a value that svc cannot store. */
export const invalidValue = (detail: string): ScimHttpError => new ScimHttpError(400, detail, 'invalidValue')

/** Runs a change, and throws `taken` if another user or group has the name or the address. */
export async function unlessTaken<Result>(taken: ScimHttpError, change: () => Promise<Result>): Promise<Result> {
  try {
    return await change()
  } catch (error) {
    const { email, name } = (error instanceof HttpError && error.errors) || {}
    throw email || name || isUniqueViolation(error) ? taken : error
  }
}
