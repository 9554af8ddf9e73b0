import type { FastifyInstance } from 'fastify'
import { searchEvents } from '../../../identity/event-list.ts'
import { listPage } from '../../../pages/account/list-page.ts'
import type { AdminBlock, Detail } from '../../../pages/admin-page-data.ts'
import { pageRoute } from '../../../pages/form-page.ts'
import { textsOf } from '../../../pages/texts.ts'
import { notFound } from '../../../platform/errors.ts'
import { uncheckedText } from '../../../platform/http/fields.ts'
import { Type } from '../../../platform/json-schema.ts'
import { findClient, listClients } from '../../oauth/clients/client-facts.ts'
import { linkUse } from '../../social/store.ts'
import { fieldOf, present, rowOf, rowsOf, searchOf, timeOf } from './blocks.ts'
import { adminSection, ownPages, queryText, sendSection } from './section-hooks.ts'

/** Failed sign-ins that svc searches for the last one of each provider. */
const recentFailures = 200

/** Values on one page of the configuration. */
const valuesPerPage = 100

/** A value as people read it. */
function shownValue(value: unknown): string {
  if (typeof value === 'string') return value
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string')
  return isList ? value.join(', ') : JSON.stringify(value)
}

/** Tests whether a setting is off or empty. */
const isUnset = (value: unknown): boolean =>
  value === null || value === undefined || value === false || (Array.isArray(value) && value.length === 0)

/** The OAuth clients and their settings. */
export async function clientPages(app: FastifyInstance): Promise<void> {
  const section = adminSection('clients')

  /** The last event of a client. Tokens for machines leave none. */
  async function lastEvent(clientId: string): Promise<Detail[]> {
    const [event] = await searchEvents(app.database, { clientId }, { before: null, take: 1 })
    return present([timeOf(event?.lastAt, 'admin.last_event')])
  }

  pageRoute(app, {
    path: section,
    operation: 'AdminClients',
    config: ownPages,
    query: Type.Object({ after: uncheckedText('The last client of the previous page.') }),
    summary: 'clients',
    description: 'The OAuth clients.',
    async page(request, reply) {
      const text = textsOf(request)
      const all = (await listClients(app)).map((client) => ({ ...client, id: client.client_id }))
      const { entries, nextHref } = listPage(section, all, request.query.after)
      const rows = entries.map(async ({ client_id, name, type, grants, registered }) =>
        rowOf({
          title: name,
          href: `${section}/${encodeURIComponent(client_id)}`,
          badges: present([type, !registered && text('admin.unregistered')]),
          details: [client_id, grants.join(' '), ...(await lastEvent(client_id))],
        }),
      )
      return sendSection(reply, {
        title: text('admin.clients'),
        lead: text('admin.read_only'),
        blocks: [rowsOf({ name: 'clients', rows: await Promise.all(rows), nextHref })],
      })
    },
  })

  pageRoute(app, {
    path: `${section}/:client_id`,
    operation: 'AdminClient',
    config: ownPages,
    params: Type.Object({ client_id: Type.String({ maxLength: 255 }) }),
    summary: 'a client',
    description: 'All settings of an OAuth client, without secrets.',
    async page(request, reply) {
      const text = textsOf(request)
      const client = await findClient(app, request.params.client_id)
      if (!client) throw notFound('Client not found.')
      const facts = Object.entries(client)
        .filter(([, value]) => !isUnset(value))
        .map(([key, value]) => ({ label: key, value: shownValue(value) }))
      const [at] = await lastEvent(client.client_id)
      const rest: AdminBlock[] = at ? [{ kind: 'facts', facts: [{ label: text('account.activity'), value: at }] }] : []
      return sendSection(reply, {
        title: client.name,
        lead: text('admin.read_only'),
        back: { label: text('admin.clients'), href: section },
        blocks: [...rest, { kind: 'facts', facts }],
      })
    },
  })
}

/** The identity providers. */
export async function providerPages(app: FastifyInstance): Promise<void> {
  pageRoute(app, {
    path: adminSection('providers'),
    operation: 'AdminProviders',
    config: ownPages,
    summary: 'identity providers',
    description: 'The identity providers, with their last use and their last failure.',
    async page(request, reply) {
      const text = textsOf(request)
      const { social } = app.config.current()
      const type = 'social_login_failed'
      const failures = await searchEvents(app.database, { type }, { before: null, take: recentFailures })
      const rows = Object.entries(social).map(async ([name, { label, client_id, issuer }]) => {
        const { count, usedAt } = await linkUse(app.database, name)
        const failure = failures.find(({ data }) => data.provider === name)
        return rowOf({
          title: label ?? name,
          details: present<Detail>([
            [name, issuer, client_id].filter(Boolean).join(' · '),
            text('admin.linked', { count }),
            timeOf(usedAt, 'account-sessions.used'),
            timeOf(failure?.lastAt, 'admin.last_failure'),
            failure?.reason && text('admin.because', { reason: failure.reason }),
          ]),
        })
      })
      return sendSection(reply, {
        title: text('admin.providers'),
        lead: text('admin.read_only'),
        blocks: [rowsOf({ name: 'providers', rows: await Promise.all(rows) })],
      })
    },
  })
}

/** Every value of the configuration. */
export async function configurationPages(app: FastifyInstance): Promise<void> {
  const section = adminSection('configuration')
  pageRoute(app, {
    path: section,
    operation: 'AdminConfiguration',
    config: ownPages,
    query: Type.Object({
      key: uncheckedText('A part of the key.'),
      after: uncheckedText('The last key of the previous page.'),
    }),
    summary: 'the configuration',
    description: 'Every value of the active configuration and where it is set, without secrets.',
    async page(request, reply) {
      const text = textsOf(request)
      const key = queryText(request.query.key)
      const all = app.config.shown().filter((value) => value.key.includes(key))
      const start = all.findIndex((value) => value.key === request.query.after) + 1
      const shown = all.slice(start, start + valuesPerPage)
      const isEnd = start + shown.length >= all.length
      const next = new URLSearchParams({ key, after: shown.at(-1)?.key ?? '' })
      const placeOf = ({ source, file, line, variable }: (typeof all)[number]): string =>
        file === null ? [source, variable].filter(Boolean).join(' ') : `${file}:${line}`
      return sendSection(reply, {
        title: text('admin.configuration'),
        lead: text('admin.read_only'),
        blocks: [
          searchOf(section, text('admin.search'), [fieldOf({ name: 'key', label: text('admin.key'), value: key })]),
          rowsOf({
            name: 'values',
            rows: shown.map((value) =>
              rowOf({
                title: value.key,
                details: [value.isSecret ? text('admin.secret') : shownValue(value.value), placeOf(value)],
              }),
            ),
            nextHref: isEnd ? null : `${section}?${next}`,
          }),
        ],
      })
    },
  })
}
