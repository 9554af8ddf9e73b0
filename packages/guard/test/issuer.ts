import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose'
import type { Test } from 'tap'
import { Guard } from '../src/guard.ts'
import type { GuardOptions } from '../src/options.ts'

export const audience = 'https://orders.example.com'

/** The answer to one request. The default of the path applies without it. */
type Answer = (request: IncomingMessage & { text: string }, response: ServerResponse) => void

/** An issuer whose answers and clock the test controls. */
export interface FakeIssuer {
  url: string
  /** The paths of all requests. */
  requests: string[]
  /** The tokens of each introspection request. */
  batches: string[][]
  /** Milliseconds of the guard's clock. */
  clock: { now: number }
  answer: Answer | null
  publish(...keys: TestKey[]): void
  guard(options?: Partial<GuardOptions>): Guard
  /** An access token of svc, with changes. `undefined` removes a claim. */
  token(claims?: Record<string, unknown>, header?: Partial<JWTHeaderParameters>, key?: TestKey): Promise<string>
}

export interface TestKey {
  privateKey: CryptoKey
  jwk: Record<string, unknown>
}

export async function newKey(kid: string, alg = 'ES256'): Promise<TestKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export const firstKey = await newKey('first')

/** What svc answers about a token `id|secret` whose secret is not `revoked`. */
export function activeAnswer(token: string, changes: object = {}) {
  const [id, secret] = token.split('|')
  if (secret === 'revoked') return { active: false }
  return { active: true, sub: '7', token_id: id, scope: 'orders:read', abilities: ['orders:read'], ...changes }
}

export async function listen(t: Test, handler: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handler)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export async function fakeIssuer(t: Test): Promise<FakeIssuer> {
  let keys = [firstKey]
  const answers: Record<string, Answer> = {
    '/.well-known/jwks.json': (_request, response) =>
      response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) })),
    '/oauth/introspect': ({ text }, response) => {
      const tokens = new URLSearchParams(text).getAll('tokens[]')
      response.end(JSON.stringify({ tokens: tokens.map((token) => activeAnswer(token)) }))
    },
  }
  const url = await listen(t, async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    issuer.requests.push(request.url ?? '')
    if (request.method === 'POST') issuer.batches.push(new URLSearchParams(text).getAll('tokens[]'))
    const answer = issuer.answer ?? answers[request.url ?? ''] ?? ((_, missing) => missing.writeHead(404).end())
    answer(Object.assign(request, { text }), response)
  })
  const issuer: FakeIssuer = {
    url,
    requests: [],
    batches: [],
    clock: { now: Date.parse('2026-01-01T12:00:00Z') },
    answer: null,
    publish: (...published) => {
      keys = published
    },
    guard: (options = {}) => new Guard({ issuer: url, audience, now: () => issuer.clock.now, ...options }),
    token: (claims = {}, header = {}, key = firstKey) => {
      const now = Math.floor(issuer.clock.now / 1000)
      const all = {
        iss: url,
        aud: audience,
        sub: '7',
        client_id: 'web',
        iat: now,
        exp: now + 600,
        scope: 'orders:read',
      }
      return new SignJWT({ ...all, ...claims })
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: String(key.jwk.kid), ...header })
        .sign(key.privateKey)
    },
  }
  return issuer
}
