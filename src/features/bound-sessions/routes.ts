import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { bindingPaths } from '../../auth/access/bound-sessions.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { HttpError, notFound, unauthenticated } from '../../platform/errors.ts'
import { Type } from '../../platform/json-schema.ts'
import { bindingIn, keyIn, proofIn, verifyProof } from './proof.ts'
import { boundSite, permissionPath } from './site-permission.ts'
import { bindSession, findBinding, useChallenge } from './store.ts'

declare module '../../platform/errors.ts' {
  interface ErrorCodes {
    invalid_binding_proof: true
    binding_challenge: true
    already_bound: true
  }
}

const Instructions = Type.Object({
  session_identifier: Type.String(),
  refresh_url: Type.String(),
  scope: Type.Object({
    origin: Type.String(),
    include_site: Type.Boolean(),
    scope_specification: Type.Array(Type.Object({ type: Type.String(), domain: Type.String(), path: Type.String() })),
  }),
  credentials: Type.Array(Type.Object({ type: Type.String(), name: Type.String(), attributes: Type.String() })),
})

const invalidProof = (): HttpError =>
  new HttpError(
    400,
    'invalid_binding_proof',
    'The header Secure-Session-Response must be a JWT (dbsc+jwt) that the key of the session signed with ES256 or RS256.',
  )

/** Routes that browsers call by themselves to bind a session to a key (W3C Device Bound Session Credentials). */
const boundSessions: FastifyPluginAsyncTypebox = async (app) => {
  const { boundSessions: bound } = app

  const instructions = (bindingId: string) => ({
    session_identifier: bindingId,
    refresh_url: bindingPaths.refresh,
    scope: scope(),
    credentials: [{ type: 'cookie', ...bound.cookie }],
  })

  /** With `session.domain`, a binding covers the hosts of the site that get the cookie. */
  function scope() {
    const config = app.config.current()
    const site = boundSite(config)
    if (site === null) return { origin: config.app.url, include_site: false, scope_specification: [] }
    const domain = config.session.domain?.replace(/^\./, '').toLowerCase() ?? site
    const rule = (type: string, host: string) => ({ type, domain: host, path: '/' })
    const rules = [rule('include', domain), rule('include', `*.${domain}`), rule('exclude', '*')]
    const { protocol } = new URL(config.app.url)
    return { origin: `${protocol}//${site}`, include_site: true, scope_specification: domain === site ? [] : rules }
  }

  const urlOf = (path: string): string => `${app.config.current().app.url}${path}`

  /** Sends the cookie, and the challenge of the next proof. */
  function sendProved(request: FastifyRequest, reply: FastifyReply, bindingId: string, challenge?: string) {
    bound.sendCookie(request, reply, { bindingId, now: app.clock.now() })
    if (challenge !== undefined) reply.header('secure-session-challenge', `"${challenge}";id="${bindingId}"`)
    return instructions(bindingId)
  }

  app.post(
    bindingPaths.registration,
    {
      // The challenge in the proof takes the place of the CSRF token. The browser may report the page that signed in as the origin.
      config: { access: { family: 'session', caller: 'guest', csrf: 'entry' } },
      schema: {
        // Browsers call it by themselves, after a response with the header `Secure-Session-Registration`.
        hide: true,
        response: { 200: Instructions },
      },
    },
    async (request, reply) => {
      const { row, held } = request.session.state ?? {}
      const session = row ?? held
      if (!bound.isOn) throw notFound()
      if (!session?.user || session.publicId === null) throw unauthenticated()
      const { publicId: sessionId, user } = session
      const proof = proofIn(request.headers['secure-session-response'])
      const key = proof === null ? null : keyIn(proof)
      const found = proof && key && (await verifyProof(proof, key, urlOf(bindingPaths.registration)))
      const issuedAt = found ? bound.issuedAt(found.challenge, sessionId, app.clock.now()) : null
      if (!key || issuedAt === null) throw invalidProof()
      const id = await bindSession(visitOf(request), { userId: user.id, sessionId, key, issuedAt })
      if (id === null) throw new HttpError(409, 'already_bound', 'The session is bound to a key already, or has ended.')
      return sendProved(request, reply, id)
    },
  )

  app.post(
    bindingPaths.refresh,
    {
      config: { access: { family: 'none' } },
      schema: {
        // Browsers call it by themselves, before they send a request without the cookie `svc_bound`.
        hide: true,
        response: { 200: Instructions },
      },
    },
    async (request, reply) => {
      const id = bindingIn(request.headers['sec-secure-session-id'])
      const binding = bound.isOn && id !== null ? await findBinding(app.database, id) : null
      if (!binding) throw notFound()
      const now = app.clock.now()
      const next = () => bound.challenge(binding.id, Math.max(now, binding.provedAt + 1))
      const proof = proofIn(request.headers['secure-session-response'])
      const found = proof === null ? null : await verifyProof(proof, binding.key, urlOf(bindingPaths.refresh))
      // Without a new challenge, a browser with another key stops asking.
      if (proof !== null && (!found || (found.bindingId ?? binding.id) !== binding.id)) throw invalidProof()
      const issuedAt = found ? bound.issuedAt(found.challenge, binding.id, now) : null
      if (issuedAt !== null && (await useChallenge(app.database, binding.id, issuedAt)))
        return sendProved(request, reply, binding.id, bound.challenge(binding.id, Math.max(now, issuedAt + 1)))
      throw new HttpError(403, 'binding_challenge', 'Sign the challenge in Secure-Session-Challenge.', {
        headers: { 'secure-session-challenge': `"${next()}";id="${binding.id}"` },
      })
    },
  )

  app.get(
    permissionPath,
    {
      config: { access: { family: 'none' } },
      schema: {
        operationId: 'getDeviceBoundSessions',
        tags: ['Sessions'],
        summary: 'The origins that may bind sessions of this site',
        description:
          'With `session.domain`, browsers fetch it from the site, for example from `https://example.com` for `https://auth.example.com`.',
        response: {
          200: Type.Object(
            {
              registering_origins: Type.Array(Type.String(), { description: 'The origin of svc.' }),
            },
            { title: 'DeviceBoundSessionOrigins', description: 'The origin of svc.' },
          ),
        },
      },
    },
    async () => ({ registering_origins: [app.config.current().app.url] }),
  )
}

export default boundSessions
