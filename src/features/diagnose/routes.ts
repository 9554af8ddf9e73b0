import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { findingsOf } from '../../auth/access/diagnosis/diagnose.ts'
import { addPages } from '../../pages/pages.ts'
import { notFound, validationFailed } from '../../platform/errors.ts'
import { AddressRanges } from '../../platform/http/addresses.ts'
import { clientAddress } from '../../platform/http/client-address.ts'
import { isNavigation } from '../../platform/http/navigation.ts'
import { varyBy } from '../../platform/http/vary.ts'
import { Type } from '../../platform/json-schema.ts'

const path = '/svc/diagnose'

const Diagnosis = Type.Object(
  {
    ok: Type.Boolean({ description: 'Whether every check passed.' }),
    findings: Type.Array(
      Type.Object(
        {
          check: Type.String({
            description: 'origin, host, cors, cookie, session, same_site, cookie_domain, csrf, proxy or clock.',
          }),
          ok: Type.Boolean({ description: 'Whether the check passed.' }),
          message: Type.String({ description: 'What svc sees, in a sentence for developers.' }),
          key: Type.Union([Type.String(), Type.Null()], { description: 'The configuration key to change.' }),
        },
        { title: 'DiagnosisFinding', description: 'The result of one check.' },
      ),
      { description: 'One finding per check.' },
    ),
  },
  {
    title: 'Diagnosis',
    description: 'How svc sees the requests of a page.',
    examples: [
      {
        ok: false,
        findings: [
          {
            check: 'origin',
            ok: false,
            message:
              'The page at http://localhost:5174 is not in the stateful list, so svc ignores its session cookie.',
            key: 'stateful',
          },
        ],
      },
    ],
  },
)

/** Unix milliseconds or an ISO 8601 date of the caller's clock. Throws 422 for anything else. */
function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = /^\d{1,15}$/.test(text)
    ? Number(text)
    : /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text)
      ? Date.parse(text)
      : NaN
  if (Number.isNaN(time)) throw validationFailed({ now: ['The now field must be a valid date.'] })
  return time
}

/** Explains to the calling page how svc sees its requests. For developers: 404 unless `guard.diagnose` is true. */
const diagnose: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)
  const proxies = new AddressRanges(app.config.current().server.trust_proxy)
  const requireEnabled = async () => {
    if (!app.config.current().guard.diagnose) throw notFound()
  }
  const isTrustedProxy = ({ socket }: FastifyRequest) => proxies.has(clientAddress({ ip: socket.remoteAddress ?? '' }))
  const access = { family: 'none' } as const

  app.get(
    path,
    {
      config: { access, crossOrigin: 'any', alsoAnswers: [404, 503] },
      onRequest: requireEnabled,
      schema: {
        operationId: 'diagnose',
        tags: ['Guard'],
        summary: 'Explain how svc sees the requests of a page',
        description:
          'For developers, while `guard.diagnose` is true: checks the origin, CORS, cookies, CSRF token, proxy and clock of this request, and names the configuration key to change. Pages that svc does not know must call it without credentials. Browsers that open it get a page.',
        querystring: Type.Object({
          now: Type.Optional(
            Type.String({
              maxLength: 40,
              description: 'The time of the caller, in Unix milliseconds or as ISO 8601 date in UTC.',
            }),
          ),
        }),
        response: {
          200: {
            description: 'How svc sees the requests of the page.',
            content: { 'application/json': { schema: Diagnosis }, 'text/html': { schema: { type: 'string' } } },
          },
        },
      },
    },
    async (request, reply) => {
      const callerNow = timeOf(request.query.now)
      await app.sessions.read(request, reply)
      const circumstances = { isTrustedProxy: isTrustedProxy(request), callerNow, now: app.clock.now() }
      const findings = findingsOf(request, circumstances)
      varyBy(reply, 'Accept')
      if (!isNavigation(request)) return { ok: findings.every(({ ok }) => ok), findings }
      const url = `${app.config.current().app.url}${path}`
      return reply.page('diagnose', { title: 'Diagnosis', url, findings })
    },
  )

  // The preflight of pages that svc does not know, which CORS answers.
  app.options(
    path,
    { config: { access, crossOrigin: 'any' }, onRequest: requireEnabled, schema: { hide: true } },
    (_, reply) => reply.code(204).send(),
  )
}

export default diagnose
