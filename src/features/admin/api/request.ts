import type { FastifyRequest } from 'fastify'
import { eventContext } from '../../../auth/access/visit.ts'
import { type EventContext, recordEvents } from '../../../identity/events.ts'
import { maxGroups } from '../../../identity/groups.ts'
import { groupNames } from '../../../platform/config/sections/groups.ts'
import { apiSchema } from '../../../platform/http/description/described-schemas.ts'
import { idParameter, nullableText } from '../../../platform/http/fields.ts'
import { withoutControls } from '../../../platform/http/formats.ts'
import { Type } from '../../../platform/json-schema.ts'

const guard = { family: 'hybrid', caller: 'required' } as const

/** Routes that show data. */
export const reads = { access: { ...guard, administrator: 'reads' }, limit: 'admin' } as const

/** Routes that change something. */
export const changes = { access: { ...guard, administrator: 'changes' }, limit: 'admin' } as const

/** Maximum length of a reason. */
const maxReason = 500

const maxPage = 1_000
const defaultPage = 50

/** Parameters of lists. Values in addresses are texts. */
export const pageQuery = {
  limit: Type.Optional(
    Type.String({
      pattern: '^(?:[1-9][0-9]{0,2}|1000)$',
      description: `Maximum number of records. Default: ${defaultPage}.`,
      [apiSchema]: { type: 'integer', minimum: 1, maximum: maxPage },
    }),
  ),
}

export const limitOf = ({ limit }: { limit?: string }): number => Number(limit ?? defaultPage)

/** Cursor that is the id of a record. */
export const idCursor = Type.Optional(
  Type.String({ pattern: '^[0-9]{1,15}$', description: 'The `next` of the previous page.' }),
)

/** A filter: one line of text. */
export const filterText = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 255, format: 'name', description }))

/** The id of a user in a path. */
export const UserParams = Type.Object({ id: idParameter('The id of the user.', '^[1-9][0-9]{0,14}$') })

export const userIdOf = ({ params }: { params: { id: string } }): number => Number(params.id)

/** Why the administrator makes a change. The header `Svc-Reason` is the alternative. */
export const reasonField = nullableText('Why, for the audit trail. Without personal data.', { maxLength: maxReason })

/** The groups of a new account. */
export const groupsField = Type.Optional(
  Type.Array(Type.String({ pattern: groupNames.pattern }), {
    maxItems: maxGroups,
    description: 'The names of the groups. They must exist.',
  }),
)

const namePart = (description: string) => nullableText(description, { maxLength: 255, format: 'name' })

/** Names besides the full name. Administrators can set them whatever `users` of the configuration says. */
export const adminNameFields = {
  username: nullableText('The username. By default derived from the name.', { maxLength: 255 }),
  given_name: namePart('The given name.'),
  family_name: namePart('The family name.'),
}

const reasonHeader = 'svc-reason'

/** The reason in the header, which may have UTF-8. svc cuts a longer one. */
function headerReason({ headers }: FastifyRequest): string | null {
  const value = headers[reasonHeader]
  if (typeof value !== 'string') return null
  const decoded = Buffer.from(value, 'latin1').toString('utf8')
  const reason = decoded.includes('\u{FFFD}') ? value : decoded
  return withoutControls(reason).trim().slice(0, maxReason) || null
}

/**
 * Origin of the changes that an administrator makes with this request. The actor is the administrator or the client. The
 * language is null, so that mails to the user are not in the language of the administrator.
 */
export function adminOrigin(request: FastifyRequest, reason: string | null = null): EventContext {
  const origin = eventContext(request)
  return { ...origin, actor: origin.caller, reason: reason ?? headerReason(request), language: null }
}

/** Records that an administrator read personal data: of one user, or (null) of the records that `target` names. */
export async function recordRead(request: FastifyRequest, userId: number | null, target: string): Promise<void> {
  const { operationId = '' } = request.routeOptions.schema ?? {}
  const event = { type: 'admin_read', userId, data: { operation: operationId } } as const
  const origin = adminOrigin(request)
  await recordEvents(request.server.database, origin, userId === null ? { ...event, target } : event)
}
