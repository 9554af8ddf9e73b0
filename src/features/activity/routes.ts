import type { FastifyPluginAsync } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { browserName } from '../../identity/browser-name.ts'
import { cursorOf, cursorText, type ListedEvent, listEvents } from '../../identity/event-list.ts'
import { addAccountPages, sectionPath, verifiedAccount } from '../../pages/account/account-pages.ts'
import { pageRoute } from '../../pages/form-page.ts'
import { isTextName } from '../../pages/texts.ts'
import { uncheckedText } from '../../platform/http/fields.ts'
import { textsOf } from '../../platform/http/texts.ts'
import { Type } from '../../platform/json-schema.ts'

const path = sectionPath('activity')

/** Maximum number of events of one page. */
const maxEvents = 25

/** Name that the user gave to what the event is about, such as a token. */
const subjectOf = ({ data }: ListedEvent): string | null => (typeof data.name === 'string' ? data.name : null)

/** The section with the recent events of the account. */
const activity: FastifyPluginAsync = async (app) => {
  await addAccountPages(app, 'activity')

  pageRoute(app, {
    path,
    operation: 'Activity',
    config: verifiedAccount,
    query: Type.Object({ before: uncheckedText('The last event of the previous page.') }),
    summary: 'recent activity',
    description: 'The security events of the signed-in user, newest first.',
    async page(request, reply) {
      const text = textsOf(request)
      const before = cursorOf(request.query.before)
      const { id } = requireUser(request)
      const found = await listEvents(app.database, id, { before, take: maxEvents + 1 })
      const shown = found.slice(0, maxEvents)
      const last = found.length > maxEvents ? shown.at(-1) : undefined
      const events = shown.map((event) => {
        const name = `event.${event.type}`
        return {
          label: text(isTextName(name) ? name : 'event.other'),
          isFailure: event.type.endsWith('_failed'),
          subject: subjectOf(event),
          at: event.lastAt.toISOString(),
          times: event.times,
          browser: event.userAgent === null ? null : browserName(event.userAgent),
          ipAddress: event.ipAddress,
        }
      })
      const nextHref = last ? `${path}?${new URLSearchParams({ before: cursorText(last) })}` : null
      return reply.page('account-activity', { events, nextHref })
    },
  })
}

export default activity
