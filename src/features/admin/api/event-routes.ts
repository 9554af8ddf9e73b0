import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { cursorOf, searchEvents } from '../../../identity/event-list.ts'
import { validationFailed } from '../../../platform/errors.ts'
import { eventTypes } from '../../../platform/event-types.ts'
import { apiSchema } from '../../../platform/http/description/described-schemas.ts'
import { millisecondsOf } from '../../../platform/http/formats.ts'
import { Type } from '../../../platform/json-schema.ts'
import { eventRecord } from '../events.ts'
import { filterText, limitOf, pageQuery, reads, recordRead } from './request.ts'
import { AdminEvent, pageOf } from './schemas.ts'

const time = (description: string) => Type.Optional(Type.String({ format: 'date', maxLength: 40, description }))

const EventQuery = Type.Object({
  type: Type.Optional(
    Type.Unsafe<string>({ type: 'string', enum: [...eventTypes], description: 'Only events of this type.' }),
  ),
  user_id: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]{0,14}$',
      description: 'Only events of the user with this id, who may have been deleted.',
      [apiSchema]: { type: 'integer', format: 'int64', minimum: 1 },
    }),
  ),
  client_id: filterText('Only events of this OAuth client.'),
  since: time('Only events from this time on, in ISO 8601.'),
  until: time('Only events before this time, in ISO 8601.'),
  after: Type.Optional(Type.String({ maxLength: 40, description: 'The `next` of the previous page.' })),
  ...pageQuery,
})

const dateOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(millisecondsOf(text))

/** The audit trail. */
const events: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/admin/v1/events',
    {
      config: reads,
      schema: {
        operationId: 'adminListEvents',
        tags: ['Administration'],
        summary: 'List security events, the newest first',
        description: 'All filters apply. Records the event `admin_read`.',
        querystring: EventQuery,
        response: { 200: pageOf(AdminEvent, 'AdminEventPage') },
      },
    },
    async (request) => {
      const { type, user_id, client_id, since, until, after } = request.query
      const before = after === undefined ? null : cursorOf(after)
      if (after !== undefined && !before) throw validationFailed({ after: ['The after field is invalid.'] })
      const take = limitOf(request.query)
      const filter = {
        ...(type === undefined ? {} : { type }),
        ...(user_id === undefined ? {} : { userId: Number(user_id) }),
        ...(client_id === undefined ? {} : { clientId: client_id }),
        since: dateOf(since),
        until: dateOf(until),
      }
      const found = await searchEvents(app.database, filter, { before, take: take + 1 })
      await recordRead(request, filter.userId ?? null, 'events')
      const data = found.slice(0, take).map(eventRecord)
      return { data, next: found.length > take ? (data.at(-1)?.cursor ?? null) : null }
    },
  )
}

export default events
