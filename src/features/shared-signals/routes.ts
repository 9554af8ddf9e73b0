import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../auth/access/caller.ts'
import { signalsScope } from '../../platform/config/sections/admin.ts'
import { randomId } from '../../platform/crypto/random.ts'
import { forbidden, notFound, validationFailed } from '../../platform/errors.ts'
import { Type } from '../../platform/json-schema.ts'
import { maxTokens, poll } from './poll.ts'
import { kindOf, never, type SignalJob } from './queue.ts'
import { type Stream, signalTypes } from './signals.ts'

const pushMethod = 'urn:ietf:rfc:8935'
const pollMethod = 'urn:ietf:rfc:8936'

/** For clients with the scope `svc:signals`. The specification describes the routes. */
const clients = {
  config: {
    access: { family: 'hybrid', caller: 'required', administrator: 'reads', scope: signalsScope },
    limit: 'admin',
    alsoAnswers: [404],
  },
  schema: { hide: true },
} as const

const Texts = Type.Array(Type.String({ maxLength: 255 }), { maxItems: 1_000 })

const PollBody = Type.Object({
  maxEvents: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  returnImmediately: Type.Optional(Type.Boolean()),
  ack: Type.Optional(Texts),
  setErrs: Type.Optional(Type.Record(Type.String({ maxLength: 255 }), Type.Unknown())),
})

const VerifyBody = Type.Object({
  stream_id: Type.String({ maxLength: 63 }),
  state: Type.Optional(Type.String({ maxLength: 255 })),
})

/** Streams of security events as signed tokens (OpenID Shared Signals Framework 1.0). The configuration declares them. */
const sharedSignals: FastifyPluginAsyncTypebox = async (app) => {
  const base = () => app.config.current().app.url
  const streams = () => Object.entries(app.config.current().shared_signals.streams)

  /** The streams of the client of a request. Administrators have none. */
  function ownStreams(request: FastifyRequest): [name: string, Stream][] {
    const caller = callerOf(request)
    if (caller.kind !== 'machine' || caller.clientId === undefined) throw forbidden()
    return streams().filter(([, { client_id }]) => client_id === caller.clientId)
  }

  /** A stream of the client. Throws 404 for another one. */
  function ownStream(request: FastifyRequest, name: unknown): [name: string, Stream] {
    const found = ownStreams(request).find(([own]) => own === name)
    if (!found) throw notFound('Stream not found.')
    return found
  }

  const describe = ([name, { audience, push, events }]: [string, Stream]) => ({
    stream_id: name,
    iss: base(),
    aud: audience,
    events_supported: Object.values(signalTypes),
    events_requested: events.map((event) => signalTypes[event]),
    events_delivered: events.map((event) => signalTypes[event]),
    delivery: push
      ? { method: pushMethod, endpoint_url: push.url }
      : { method: pollMethod, endpoint_url: `${base()}/ssf/poll/${name}` },
  })

  app.get(
    '/.well-known/ssf-configuration',
    { config: { access: { family: 'none' }, alsoAnswers: [404] }, schema: { hide: true } },
    async () => {
      if (streams().length === 0) throw notFound()
      return {
        spec_version: '1_0',
        issuer: base(),
        jwks_uri: `${base()}/.well-known/jwks.json`,
        delivery_methods_supported: [pushMethod, pollMethod],
        configuration_endpoint: `${base()}/ssf/stream`,
        status_endpoint: `${base()}/ssf/status`,
        verification_endpoint: `${base()}/ssf/verify`,
        authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
        default_subjects: 'ALL',
      }
    },
  )

  app.get<{ Querystring: { stream_id?: string } }>('/ssf/stream', clients, async (request) => {
    const { stream_id } = request.query
    return stream_id === undefined ? ownStreams(request).map(describe) : describe(ownStream(request, stream_id))
  })

  app.get<{ Querystring: { stream_id?: string } }>('/ssf/status', clients, async (request) => {
    const [stream_id] = ownStream(request, request.query.stream_id)
    return { stream_id, status: 'enabled' }
  })

  app.post(
    '/ssf/verify',
    { config: clients.config, schema: { ...clients.schema, body: VerifyBody } },
    async (request, reply) => {
      const [name, { push }] = ownStream(request, request.body.stream_id)
      const job: SignalJob = { id: randomId(), state: request.body.state ?? null }
      // A receiver that asks again and again gets one token.
      const mergeKey = `${kindOf(name)}:verification`
      await app.database.transaction((tx) =>
        app.outbox.add(tx, kindOf(name), job, { mergeKey, ...(push ? {} : { at: never }) }),
      )
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/ssf/poll/:stream',
    {
      config: clients.config,
      schema: { ...clients.schema, params: Type.Object({ stream: Type.String() }), body: PollBody },
    },
    async (request, reply) => {
      const [name, stream] = ownStream(request, request.params.stream)
      if (stream.push) throw validationFailed({ stream: ['svc pushes the signals of this stream.'] })
      const { maxEvents = maxTokens, returnImmediately = false, ack = [], setErrs = {} } = request.body
      for (const [jti, error] of Object.entries(setErrs)) {
        request.log.warn({ stream: name, jti, error: JSON.stringify(error).slice(0, 500) }, 'signal rejected')
      }
      const closed = new AbortController()
      reply.raw.once('close', () => closed.abort())
      return poll(app, name, stream, {
        max: Math.min(maxEvents, maxTokens),
        isImmediate: returnImmediately,
        done: [...ack, ...Object.keys(setErrs)],
        signal: AbortSignal.any([closed.signal, app.database.closing ?? closed.signal]),
      })
    },
  )
}

export default sharedSignals
