import { Xsrf } from '../../src/auth/access/csrf.ts'
import { deriveKeys } from '../../src/platform/crypto/keys.ts'
import { Signer } from '../../src/platform/crypto/signer.ts'
import { fromPage, host, request, secret } from './requests.ts'
import { sessionId, tokenSecret } from './rows.ts'

/** The host of the guarded service, and the domain of the session cookie. */
const service = 'api.example.com'
const domain = 'example.com'

/** What a proxy adds about the original request. */
const forwarded = [
  'X-Forwarded-Method: GET',
  'X-Forwarded-Proto: https',
  `X-Forwarded-Host: ${service}`,
  'X-Forwarded-Uri: /orders/4711?page=2',
  'X-Forwarded-For: 192.0.2.7',
]

const rule = { hosts: [service], paths: ['/orders/*'], methods: ['GET', 'HEAD'], abilities: ['orders:read'] }

/** Rules that match no request of the benchmark. */
const otherRules = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    hosts: i % 2 === 0 ? [service] : [`service-${i}.${domain}`],
    paths: [`/section-${i}/*`, `/items-${i}/:id`],
    abilities: [`section-${i}:read`],
  }))

/** Settings of a server that guards `api.example.com`, with this many rules before the one that matches. */
export const guardSettings = (others = 0) => ({
  server: { host: '127.0.0.1', trust_proxy: ['127.0.0.1'] },
  session: { domain },
  apis: { orders: { audience: 'https://orders.example.com', scopes: ['orders:read', 'orders:write'] } },
  guard: { default: 'deny', rules: [...otherRules(others), { ...rule, audience: 'orders' }] },
})

const guardPath = '/svc/guard'

/** `GET /svc/guard` for requests with the API tokens 1 to `tokens`, as a proxy sends it. */
export const guardTokenRequests = (tokens: number, path = guardPath): Buffer[] =>
  Array.from({ length: tokens }, (_, i) =>
    request([
      `GET ${path} HTTP/1.1`,
      `Host: ${host}`,
      'Connection: keep-alive',
      'User-Agent: ExampleApp/4.2',
      'Accept: application/json',
      `Authorization: Bearer ${i + 1}|${tokenSecret(i + 1)}`,
      ...forwarded,
    ]),
  )

/** The same with sessions, for requests that a page of the front end sends. */
export function guardSessionRequests(sessions: number, path = guardPath): Buffer[] {
  const signer = new Signer(deriveKeys([secret], '__Secure-session-cookie'))
  const xsrf = new Xsrf(deriveKeys([secret], 'xsrf'))
  return Array.from({ length: sessions }, (_, i) => {
    const id = sessionId(i + 1)
    return request([
      `GET ${path} HTTP/1.1`,
      `Host: ${host}`,
      'Connection: keep-alive',
      ...fromPage,
      `Cookie: __Secure-svc_session=${signer.sign(id)}; XSRF-TOKEN=${xsrf.token(id)}`,
      ...forwarded,
    ])
  })
}

/** What a client sends to nginx for the guarded service. */
export const guardedRequests = (tokens: number): Buffer[] =>
  Array.from({ length: tokens }, (_, i) =>
    request([
      'GET /orders/4711?page=2 HTTP/1.1',
      `Host: ${service}`,
      'Connection: keep-alive',
      'User-Agent: ExampleApp/4.2',
      'Accept: application/json',
      `Authorization: Bearer ${i + 1}|${tokenSecret(i + 1)}`,
    ]),
  )
