import type { NextRequest } from './load.ts'
import { host, password } from './requests.ts'
import { emailOf } from './rows.ts'

export const benchSecret = 'Hc5vZ8kTq2Nw7bRx1sJm4fLy9gPd3AaEu6iWoK0X'
export const benchClients = { robot: 'robot', app: 'app', web: 'web' } as const

/** Where the browsers of a client return to. */
export const redirectUri = 'https://web.example/callback'

/** The clients of the measured server. Access tokens and ID tokens are signed with the algorithm. */
export const oauthSettings = (algorithm: 'ES256' | 'RS256') => ({
  scopes: { 'orders:read': 'Read your orders' },
  clients: [
    {
      client_id: benchClients.robot,
      type: 'confidential',
      secret: benchSecret,
      grants: ['client_credentials'],
      scopes: ['orders:read'],
      introspect: true,
    },
    {
      client_id: benchClients.app,
      type: 'confidential',
      secret: benchSecret,
      grants: ['password', 'refresh_token'],
      scopes: ['orders:read'],
      id_token_signed_response_alg: algorithm,
    },
    {
      client_id: benchClients.web,
      type: 'confidential',
      secret: benchSecret,
      first_party: true,
      grants: ['authorization_code'],
      redirect_uris: [redirectUri],
      scopes: ['orders:read'],
      id_token_signed_response_alg: algorithm,
    },
  ],
  oauth: { access_token_ttl: '2h', access_token_alg: algorithm },
  rate_limits: { login: null, token: null, authorization: null, authorization_total: null },
})

/** A form post. */
export function formRequest(path: string, fields: Record<string, string> | string[][]): Buffer {
  const pairs = Array.isArray(fields) ? fields : Object.entries(fields)
  const body = new URLSearchParams(pairs as [string, string][]).toString()
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: keep-alive',
    'Accept: application/json',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

const robot = { client_id: benchClients.robot, client_secret: benchSecret }
const userGrant = (username: string) => ({ grant_type: 'password', username, password })
const app = { client_id: benchClients.app, client_secret: benchSecret }

export const clientCredentialsRequests = [
  formRequest('/oauth/token', { grant_type: 'client_credentials', scope: 'orders:read', ...robot }),
]

export const introspectionRequests = (tokens: readonly string[]): Buffer[] =>
  tokens.map((token) => formRequest('/oauth/introspect', { token, ...robot }))

/** Requests for this number of tokens each. */
export const introspectionListRequests = (tokens: readonly string[], each: number): Buffer[] =>
  Array.from({ length: Math.floor(tokens.length / each) }, (_, i) => {
    const list = tokens.slice(i * each, (i + 1) * each).map((token) => ['tokens[]', token])
    return formRequest('/oauth/introspect', [...Object.entries(robot), ...list])
  })

const refreshRequest = (token: string): Buffer =>
  formRequest('/oauth/token', { grant_type: 'refresh_token', refresh_token: token, ...app })

/** Password grants of this number of users. */
export const passwordGrantRequests = (users: number): Buffer[] =>
  Array.from({ length: users }, (_, i) =>
    formRequest('/oauth/token', { ...app, ...userGrant(emailOf(i + 1)), scope: 'openid profile email orders:read' }),
  )

export const refreshToken = /"refresh_token": ?"([\w.-]+)"/

/** Each connection continues with the refresh token of its last response. */
export function refreshing(tokens: readonly string[], requestOf = refreshRequest): NextRequest {
  const first = [...tokens]
  return (answer) => {
    const found = answer && refreshToken.exec(answer.toString('latin1'))?.[1]
    return requestOf(found ?? first.pop() ?? '')
  }
}

/** A GET with an access token. */
export const jwtRequests = (path: string, tokens: readonly string[]): Buffer[] =>
  tokens.map((token) =>
    Buffer.from(
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\nAccept: application/json\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    ),
  )

/** Token responses of the password grant for this number of users. */
export async function userTokens(
  port: number,
  count: number,
  password: string,
  scope = 'openid profile email orders:read',
): Promise<{ access: string[]; refresh: string[] }> {
  const access: string[] = []
  const refresh: string[] = []
  for (let i = 1; i <= count; i++) {
    const answer = await fetch(`http://127.0.0.1:${port}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'password',
        username: emailOf(i),
        password,
        scope,
        ...app,
      }),
    })
    const { access_token, refresh_token }: Record<string, string> = JSON.parse(await answer.text())
    if (answer.status !== 200) throw new Error(`The password grant answered ${answer.status}.`)
    access.push(access_token ?? '')
    refresh.push(refresh_token ?? '')
  }
  return { access, refresh }
}
