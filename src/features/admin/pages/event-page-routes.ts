import type { FastifyInstance } from 'fastify'
import { visitOf } from '../../../auth/access/visit.ts'
import { browserName } from '../../../identity/browser-name.ts'
import { cursorOf, searchEvents } from '../../../identity/event-list.ts'
import { recordEvents } from '../../../identity/events.ts'
import type { AdminRow } from '../../../pages/admin-page-data.ts'
import { pageRoute } from '../../../pages/form-page.ts'
import { isTextName, textsOf } from '../../../pages/texts.ts'
import { eventTypes } from '../../../platform/event-types.ts'
import { uncheckedText } from '../../../platform/http/fields.ts'
import type { TextLookup } from '../../../platform/http/texts.ts'
import { Type } from '../../../platform/json-schema.ts'
import { translateBrowser } from '../../../platform/languages/browsers.ts'
import { adminOrigin, recordRead } from '../api/request.ts'
import { eventRecord } from '../events.ts'
import { fieldOf, pageOf, present, rowOf, rowsOf, searchOf, take, timeOf } from './blocks.ts'
import { adminSection, ownPages, queryText, sendSection, userPath } from './section-hooks.ts'

const section = adminSection('events')

function labelOf(type: string, text: TextLookup): string {
  const name = `event.${type}`
  return isTextName(name) ? text(name) : type
}

/** An event as administrators see it. */
export function eventRow(event: ReturnType<typeof eventRecord>, text: TextLookup): AdminRow {
  const { type, outcome, actor, target, user_id, client_id, reason, ip_address, user_agent, created_at, times } = event
  const { last_at = created_at } = event
  const browser = user_agent === null ? null : translateBrowser(browserName(user_agent), text)
  return rowOf({
    title: labelOf(type, text),
    href: user_id === null ? null : userPath(user_id),
    badges: present([type, times !== undefined && text('account-activity.times', { times })]),
    isFailure: outcome === 'failure',
    details: present([
      actor !== null && text('admin.by', { actor }),
      present([target ?? (user_id === null ? null : `user:${user_id}`), client_id]).join(' · '),
      reason !== null && text('admin.because', { reason }),
      present([browser, ip_address]).join(' · '),
      timeOf(last_at),
    ]),
  })
}

/** The audit trail, which a script can follow. */
export async function eventPages(app: FastifyInstance): Promise<void> {
  pageRoute(app, {
    path: section,
    operation: 'AdminEvents',
    config: ownPages,
    query: Type.Object({
      type: uncheckedText('Only events of this type.'),
      user_id: uncheckedText('Only events of the user with this id.'),
      client_id: uncheckedText('Only events of this client.'),
      before: uncheckedText('The last event of the previous page.'),
      follow: uncheckedText('`1`: a script shows new events as they happen.'),
    }),
    summary: 'events',
    description: 'The audit trail, newest first.',
    async page(request, reply) {
      const text = textsOf(request)
      const { before: cursor, follow } = request.query
      const type = eventTypes.find((name) => name === request.query.type)
      const userId = queryText(request.query.user_id)
      const clientId = queryText(request.query.client_id)
      const isUser = /^[1-9]\d{0,14}$/.test(userId)
      const filter = {
        ...(type && { type }),
        ...(isUser && { userId: Number(userId) }),
        ...(clientId && { clientId }),
      }
      // Following reads every few seconds. One event per hour suffices; an event per read would fill the list itself.
      const read = {
        type: 'events_followed',
        userId: filter.userId ?? null,
        data: { administrator: visitOf(request).origin.caller },
      } as const
      if (follow === '1' && cursor === undefined) await recordEvents(app.database, adminOrigin(request), read)
      else await recordRead(request, filter.userId ?? null, 'events')
      const found = await searchEvents(app.database, filter, { before: cursorOf(cursor), take })
      const labels = eventTypes.map((name) => ({ value: name, label: `${labelOf(name, text)} (${name})` }))
      const query = {
        ...(type && { type }),
        ...(isUser && { user_id: userId }),
        ...(clientId && { client_id: clientId }),
      }
      const { shown, nextHref } = pageOf(
        found.map(eventRecord),
        ({ cursor }) => `${section}?${new URLSearchParams({ ...query, before: cursor })}`,
      )
      return sendSection(reply, {
        title: text('admin.events'),
        blocks: [
          searchOf(section, text('admin.search'), [
            fieldOf({ name: 'type', label: text('admin.type'), kind: 'select', value: type ?? '', options: labels }),
            fieldOf({ name: 'user_id', label: text('admin.user_id'), value: userId }),
            fieldOf({ name: 'client_id', label: text('admin.client_id'), value: clientId }),
          ]),
          rowsOf({
            name: 'trail',
            isLive: cursor === undefined,
            rows: shown.map((event) => eventRow(event, text)),
            nextHref,
          }),
        ],
      })
    },
  })
}
