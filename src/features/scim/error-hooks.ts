import type { FastifyReply } from 'fastify'
import { HttpError } from '../../platform/errors.ts'
import { ScimHttpError, type ScimType } from './errors.ts'

/** Schema of error messages. */
const schema = 'urn:ietf:params:scim:api:messages:2.0:Error'

/** Media type of SCIM (RFC 7644 section 3.1). */
export const scimType = 'application/scim+json; charset=utf-8'

const typeOf = ({ statusCode, code }: HttpError): ScimType | undefined => {
  if (code === 'malformed_body') return 'invalidSyntax'
  return statusCode === 422 ? 'invalidValue' : undefined
}

/** Sends an error in the format of SCIM. `error` is safe to show. */
export function sendScimError(reply: FastifyReply, error: HttpError | ScimHttpError): FastifyReply {
  const type = error instanceof ScimHttpError ? error.scimType : typeOf(error)
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
