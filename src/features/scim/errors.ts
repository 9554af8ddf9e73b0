import type { FastifyReply } from 'fastify'
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

/** Schema of error messages. */
const schema = 'urn:ietf:params:scim:api:messages:2.0:Error'

/** Media type of SCIM (RFC 7644 section 3.1). */
export const scimType = 'application/scim+json; charset=utf-8'

/** Sends an error in the format of SCIM. `error` is safe to show. */
export function sendScimError(reply: FastifyReply, error: HttpError | ScimError): FastifyReply {
  const type = error instanceof ScimError ? error.scimType : error.statusCode === 422 ? 'invalidValue' : undefined
  // SCIM has no 422, and other statuses have the same meaning.
  const status = error.statusCode === 422 ? 400 : error.statusCode
  const [first] = error instanceof HttpError ? Object.values(error.errors ?? {}).flat() : []
  const body = {
    schemas: [schema],
    status: String(status),
    ...(type ? { scimType: type } : {}),
    detail: first ?? error.message,
  }
  const headers = error instanceof HttpError ? error.headers : {}
  return reply
    .code(status)
    .headers({ 'cache-control': 'no-store', ...headers })
    .type(scimType)
    .serializer(JSON.stringify)
    .send(body)
}
