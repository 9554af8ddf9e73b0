import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requireUser } from '../../auth/access/caller.ts'
import { type Visit, visitOf } from '../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { listTrustedBrowsers, revokeTrustedBrowser } from '../../auth/sign-in/trusted-browsers.ts'
import { maxRowId } from '../../platform/database/ids.ts'
import { notFound } from '../../platform/errors.ts'
import { idParameter } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'

const date = (description: string) => Type.String({ format: 'date-time', description })
const nullableText = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description })

const TrustedBrowser = Type.Object(
  {
    id: Type.Integer({ format: 'int64', description: 'The id of the browser.' }),
    ip_address: nullableText('The address where the user trusted it.'),
    user_agent: nullableText('The browser.'),
    created_at: date('When the user trusted it.'),
    last_used_at: date('When it last signed in without a second factor.'),
    expires_at: date('When the trust ends.'),
  },
  { title: 'TrustedBrowser', description: 'A browser in which a sign-in needs no second factor.' },
)

const Params = Type.Object({ id: idParameter('The id of the browser.') })

/** Removes a trusted browser of the user. Throws 404 for an unknown one. */
export async function distrust(visit: Visit, id: string): Promise<void> {
  const { app, origin } = visit
  const userId = requireUser(visit).id
  const isRevoked = await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    const rowId = BigInt(id)
    return rowId <= maxRowId && revokeTrustedBrowser(tx, origin, { id: rowId, userId })
  })
  if (!isRevoked) throw notFound()
}

/** The browsers that a user trusts. */
const trustedBrowsers: FastifyPluginAsyncTypebox = async (app) => {
  const own = { access: { family: 'session', caller: 'required' } } as const

  app.get(
    '/user/trusted-browsers',
    {
      config: own,
      schema: {
        operationId: 'listTrustedBrowsers',
        tags: ['Two-factor authentication'],
        summary: 'List the browsers in which a sign-in needs no second factor',
        description: 'The latest first. Empty unless `login.trust_browser` is set.',
        response: { 200: Type.Array(TrustedBrowser) },
      },
    },
    (request) => listTrustedBrowsers(app.database, requireUser(request).id, app.clock.now()),
  )

  app.delete(
    '/user/trusted-browsers/:id',
    {
      config: { ...own, alsoAnswers: [404] },
      schema: {
        operationId: 'revokeTrustedBrowser',
        tags: ['Two-factor authentication'],
        summary: 'End the trust in a browser',
        description: 'Its next sign-in needs the second factor again. Its sessions stay.',
        params: Params,
        response: { 204: Type.Null({ description: 'The trust has ended.' }) },
      },
    },
    async (request, reply) => {
      await distrust(visitOf(request), request.params.id)
      return reply.code(204).send(null)
    },
  )
}

export default trustedBrowsers
