/** `scimType` of an error (RFC 7644 section 3.12). */
export type ScimType =
  | 'invalidFilter'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'

/** An error of a SCIM request. */
export class ScimError extends Error {
  readonly statusCode: number
  readonly scimType: ScimType | undefined

  constructor(statusCode: number, detail: string, scimType?: ScimType) {
    super(detail)
    this.statusCode = statusCode
    this.scimType = scimType
  }
}

/** 400 for a value that svc cannot store. */
export const invalidValue = (detail: string): ScimError => new ScimError(400, detail, 'invalidValue')
