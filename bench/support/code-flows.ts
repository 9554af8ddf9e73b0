import { createHash } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import type { NextRequest } from './load.ts'
import { benchSecret, formRequest, redirectUri } from './oauth-requests.ts'
import { host, request } from './requests.ts'

const verifier = 'bench'.padEnd(43, '0')
const challenge = createHash('sha256').update(verifier).digest('base64url')

const authorizePath = (client: string): string =>
  `/oauth/authorize?${new URLSearchParams({
    client_id: client,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid orders:read',
    state: 'state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  })}`

/** Headers of a browser that follows a link from the application. */
const browserHeaders = (cookie: string) => ({
  Host: host,
  Accept: 'text/html',
  'Sec-Fetch-Site': 'cross-site',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Dest': 'document',
  Cookie: cookie,
})

/**
 * Code flows of a client that needs no consent. Each flow is an authorization request of the next signed-in browser, and
 * the token request with its code.
 */
export function codeFlows(client: string, nextCookie: () => string): NextRequest {
  const path = authorizePath(client)
  const begin = () => {
    const fields = Object.entries(browserHeaders(nextCookie())).map((field) => field.join(': '))
    return request([`GET ${path} HTTP/1.1`, 'Connection: keep-alive', ...fields])
  }
  const redeemer = { client_id: client, client_secret: benchSecret, redirect_uri: redirectUri }
  return (answer) => {
    const code = answer && /^Location: .*[?&]code=([\w-]+)/im.exec(answer.toString('latin1'))?.[1]
    if (!code) return begin()
    return formRequest('/oauth/token', { grant_type: 'authorization_code', code, code_verifier: verifier, ...redeemer })
  }
}

/** Opens the application in a browser that is signed in. Returns all cookies that the browser then has. */
export async function visited(port: number, client: string, cookie: string): Promise<string> {
  const asked = get({ port, path: authorizePath(client), headers: browserHeaders(cookie) })
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve).once('error', reject)
  })
  answer.resume()
  if (!answer.headers.location?.includes('code=')) throw new Error(`The authorization answered ${answer.statusCode}.`)
  const set = answer.headers['set-cookie'] ?? []
  const oauth = set.map((text) => text.split(';')[0] ?? '').filter((pair) => pair.startsWith('__Host-svc_oauth'))
  return [cookie, ...oauth].join('; ')
}
