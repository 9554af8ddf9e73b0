import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import type { RequestLimit } from '../../auth/access/request-limits.ts'
import { eventContext, visitOf } from '../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { recordEvent } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import { wireDate } from '../../identity/wire-date.ts'
import { addAccountPages, ownAccount, sectionPath } from '../../pages/account/account-pages.ts'
import { sectionAnswers } from '../../pages/form-page.ts'
import { type Static, Type } from '../../platform/json-schema.ts'

/** Limit on exports, because each one reads all rows of the user. */
const exportLimit: RequestLimit = { name: 'data-export', rate: { max: 10, window: 3_600_000 }, by: ['user'] }

const DataExport = Type.Object(
  { exported_at: Type.String({ format: 'date-time', description: 'When the export was made.' }) },
  { title: 'DataExport', additionalProperties: true, description: "The user's data, by kind." },
)

/** The export as a file. */
const file = {
  description: 'The data as a file.',
  content: { 'application/json': { schema: DataExport } },
  headers: { 'Content-Disposition': { type: 'string', description: '`attachment`.' } },
}

const config = { ...ownAccount, limit: exportLimit, recentPassword: () => true } as const
const parts = 'The profile and the data of all features, with at most 10,000 events, without secrets.'

/** Collects the user's data from all features, and notifies the user. */
async function exportFor(request: FastifyRequest): Promise<Static<typeof DataExport>> {
  const { server: app } = request
  const user = requireUser(request)
  const origin = eventContext(request)
  const found = { exported_at: wireDate(new Date(origin.now)) }
  for (const { exportData } of app.features) Object.assign(found, await exportData?.(app, user.id))
  await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visitOf(request))
    await recordEvent(tx, origin, { type: 'data_exported', userId: user.id })
    await notify(app, tx, origin, user, 'data_exported')
  })
  return found
}

/** The export of the user's data, for programs and for browsers. */
const dataExport: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/user/export',
    {
      config: { access: config.access, unverified: config.unverified, limit: exportLimit, recentPassword: () => true },
      schema: {
        operationId: 'exportData',
        tags: ['Account'],
        summary: 'Export your data',
        description: `${parts} Requires a recently confirmed password (423). At most 10 exports per hour.`,
        response: { 200: DataExport },
      },
    },
    exportFor,
  )

  await app.register(async (scope) => {
    await addAccountPages(scope, 'data')

    scope.get(
      `${sectionPath('data')}/export`,
      {
        config,
        schema: {
          operationId: 'downloadData',
          tags: ['Account pages'],
          summary: 'Download: your data as JSON',
          description: 'Like `GET /user/export`, for browsers. Asks for the password first.',
          response: { 200: file, 302: sectionAnswers[302], 303: sectionAnswers[303] },
        },
      },
      async (request, reply) => {
        reply.header('content-disposition', 'attachment; filename="account-data.json"')
        return exportFor(request)
      },
    )
  })
}

export default dataExport
