import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { forbidden, HttpError, validationFailed } from '../../platform/errors.ts'
import { Type } from '../../platform/json-schema.ts'
import type { TestMailbox } from './mailbox.ts'
import type { MovableClock } from './movable-clock.ts'

const maxStep = 10 * 365 * 24 * 60 * 60 * 1_000

/**
 * Rejects requests of web pages. A page of another site must neither read mails nor move the clock, also not through a
 * host name that it points to this machine (DNS rebinding).
 */
function refusePages({ headers, socket }: FastifyRequest): void {
  const names = ['localhost', '127.0.0.1'].map((name) => `${name}:${socket.localPort}`)
  if (!names.includes(headers.host ?? '')) throw forbidden()
  if (headers.origin !== undefined && !names.includes(headers.origin.replace(/^http:\/\//, ''))) throw forbidden()
  if (!['none', 'same-origin', undefined].includes(headers['sec-fetch-site'] as string | undefined)) throw forbidden()
}

/** Forms and requests without a preflight cannot have this type. */
function requireJson({ headers }: FastifyRequest): void {
  if (/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) return
  throw new HttpError(415, 'unsupported_media_type', 'Send application/json.')
}

/** What only a test server has: its mailbox and its clock. */
export const testRoutes: FastifyPluginAsyncTypebox<{ mailbox: TestMailbox; clock: MovableClock }> = async (
  app,
  { mailbox, clock },
) => {
  const config = { access: { family: 'none' as const }, crossOrigin: 'elsewhere' as const }
  app.addHook('onRequest', async (request) => refusePages(request))

  app.get(
    '/__test/mails',
    { config, schema: { hide: true, querystring: Type.Object({ to: Type.Optional(Type.String()) }) } },
    async (request) => {
      await app.outbox.deliverDue()
      return mailbox.to(request.query.to)
    },
  )

  app.post(
    '/__test/clock',
    {
      config,
      onRequest: async (request) => requireJson(request),
      schema: {
        hide: true,
        body: Type.Object({
          advance: Type.Optional(Type.Integer({ minimum: 0, maximum: maxStep })),
          now: Type.Optional(Type.String({ maxLength: 40 })),
        }),
      },
    },
    async (request) => {
      const { advance, now } = request.body
      if ((advance === undefined) === (now === undefined))
        throw validationFailed({ advance: ['Send either advance (milliseconds) or now (an ISO 8601 date).'] })
      const step = advance ?? Date.parse(now ?? '') - clock.now()
      if (!(step >= 0 && step <= maxStep))
        throw validationFailed({
          now: ['The now field must be a date after the current time, at most ten years away.'],
        })
      clock.advance(step)
      return { now: new Date(clock.now()).toISOString() }
    },
  )
}
