import { Xsrf } from '../../src/auth/access/csrf.ts'
import { deriveKeys } from '../../src/platform/crypto/keys.ts'
import { Signer } from '../../src/platform/crypto/signer.ts'
import { codeFlows } from './code-flows.ts'
import { Load, type NextRequest } from './load.ts'
import {
  benchSecret,
  clientCredentialsRequests,
  formRequest,
  introspectionRequests,
  jwtRequests,
  oauthSettings,
  redirectUri,
  refreshing,
  refreshToken,
  userTokens,
} from './oauth-requests.ts'
import type { Running } from './processes.ts'
import { bearerRequests, frontend, host, knownBrowser, password, request, secret, sessionRequests } from './requests.ts'
import { type Amounts, emailOf, sessionId, tokenSecret } from './rows.ts'

/** An operation whose cost is measured. */
export interface CostOperation {
  name: string
  title: string
  /** The number of requests of one operation: 1 by default. All but the last one answer with a redirect. */
  requests?: number
  /** The number of connections under load: `options.connections` by default. */
  connections?: number
  requestsOf(server: Running): readonly Buffer[] | NextRequest | Promise<readonly Buffer[] | NextRequest>
}

export const costAmounts: Amounts = { users: 10_000, tokens: 100_000, sessions: 120_000 }

/** A client that gets refresh tokens. */
const portal = 'portal'

const { clients, scopes, oauth } = oauthSettings('ES256')

/** The limits are those of production. Each user has a different IP address. */
export const costSettings = {
  scopes,
  oauth,
  clients: [
    ...clients,
    {
      client_id: portal,
      type: 'confidential',
      secret: benchSecret,
      first_party: true,
      redirect_uris: [redirectUri],
      grants: ['authorization_code', 'refresh_token'],
      scopes: ['orders:read'],
    },
  ],
}

const forwardedFor = (user: number) => `X-Forwarded-For: 10.${user >> 16}.${(user >> 8) & 255}.${user & 255}`

/** A JSON request of the user. */
function jsonRequest(path: string, user: number, fields: object, headers: readonly string[] = []): Buffer {
  const body = JSON.stringify(fields)
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: keep-alive',
    'Accept: application/json',
    'User-Agent: ExampleApp/4.2',
    forwardedFor(user),
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return request(head, body)
}

const ownPage = [`Origin: ${frontend}`, 'Sec-Fetch-Site: same-origin']
const every = <T>(count: number, of: (n: number) => T): T[] => Array.from({ length: count }, (_, i) => of(i + 1))

const login = (user: number, headers: readonly string[] = []) =>
  jsonRequest('/login', user, { email: emailOf(user), password }, [...ownPage, ...headers])

const sessionCookie = () => {
  const signer = new Signer(deriveKeys([secret], '__Host-session-cookie'))
  const xsrf = new Xsrf(deriveKeys([secret], 'xsrf'))
  return (n: number) => {
    const id = sessionId(n)
    return { cookie: `__Host-svc_session=${signer.sign(id)}`, token: xsrf.token(id) }
  }
}

/** Uses each request once. */
function once(requests: readonly Buffer[]): NextRequest {
  let next = 0
  return () => {
    const found = requests[next++]
    if (!found) throw new Error('The operation has no more requests.')
    return found
  }
}

/** The run signs out the sessions after this one. */
const firstEnded = 40_000

/** Number of the last session that ended. The runs for counts and for times share the sessions. */
let lastEnded = firstEnded

/** Signs out one session after another. */
function logouts(): NextRequest {
  const cookieOf = sessionCookie()
  return () => {
    const session = ++lastEnded
    if (session > costAmounts.sessions) throw new Error('The run has ended all sessions.')
    const { cookie, token } = cookieOf(session)
    const headers = [...ownPage, `Cookie: ${cookie}; XSRF-TOKEN=${token}`, `X-XSRF-TOKEN: ${token}`]
    return jsonRequest('/logout', 1 + (session % costAmounts.users), {}, headers)
  }
}

/** The number of credentials to check. It is small, so that svc records few uses. `uses` measures their cost. */
const checked = 500

/** Code flows of browsers that use the application for the first time. */
function firstFlows(): NextRequest {
  const cookieOf = sessionCookie()
  let session = 0
  return codeFlows(portal, () => {
    if (session === firstEnded) throw new Error('The operation has no more sessions.')
    return cookieOf(++session).cookie
  })
}

const owners = 200

/** Refreshes with the tokens of code flows. */
async function refreshes({ port }: Running): Promise<NextRequest> {
  const flow = firstFlows()
  const tokens: string[] = []
  const next: NextRequest = (answer) => {
    const token = answer && refreshToken.exec(answer.toString('latin1'))?.[1]
    if (token) tokens.push(token)
    return flow(answer)
  }
  const load = new Load({ port, requests: next, connections: 8, steps: 2 })
  await load.start()
  while (tokens.length < owners) await load.measure(0.2)
  await load.stop()
  return refreshing(tokens, (token) =>
    formRequest('/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: token,
      client_id: portal,
      client_secret: benchSecret,
    }),
  )
}

const grants = ({ port }: Running) => userTokens(port, owners, password)

const create = (user: number, id: number) =>
  jsonRequest('/api/tokens/create', user, { token_name: 'ci' }, [`Authorization: Bearer ${id}|${tokenSecret(id)}`])

export const costOperations: readonly CostOperation[] = [
  {
    name: 'login',
    title: '`POST /login`, known browser',
    connections: 16,
    requestsOf: () => every(costAmounts.users, (n) => login(n, [`Cookie: ${knownBrowser(emailOf(n))}`])),
  },
  {
    name: 'login-new',
    title: '`POST /login`, new browser (mails a notice)',
    connections: 16,
    requestsOf: () => once(every(costAmounts.users, (n) => login(n))),
  },
  {
    name: 'device-login',
    title: '`POST /svc/token` (mails a notice)',
    connections: 16,
    requestsOf: () =>
      once(
        every(costAmounts.users, (n) =>
          jsonRequest('/svc/token', n, { email: emailOf(n), password, device_name: 'phone' }),
        ),
      ),
  },
  {
    name: 'create-token',
    title: '`POST /api/tokens/create`, other users',
    connections: 16,
    // The owner of the token with this number. Each token belongs to another user.
    requestsOf: () => every(costAmounts.users, (n) => create(1 + ((n * 7919) % costAmounts.users), n)),
  },
  { name: 'bearer', title: 'API token check', requestsOf: () => bearerRequests(checked) },
  { name: 'uses', title: 'Recorded use of an API token', requestsOf: () => bearerRequests(costAmounts.tokens) },
  { name: 'session', title: 'Session check', requestsOf: () => sessionRequests(checked) },
  {
    name: 'jwt',
    title: 'JWT check',
    requestsOf: async (server) => jwtRequests('/api/user', (await grants(server)).access),
  },
  {
    name: 'introspection',
    title: 'Introspection of a JWT',
    requestsOf: async (server) => introspectionRequests((await grants(server)).access),
  },
  { name: 'client-credentials', title: 'Client credentials, ES256', requestsOf: () => clientCredentialsRequests },
  { name: 'code-flow', title: 'Code flow: authorization and exchange', requests: 2, requestsOf: firstFlows },
  {
    name: 'refresh',
    title: 'Refresh with rotation',
    // Each connection of each round begins with a different token.
    connections: 32,
    requestsOf: refreshes,
  },
  { name: 'logout', title: '`POST /logout`', requestsOf: logouts },
]
