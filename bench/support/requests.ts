import { Xsrf } from '../../src/auth/access/csrf.ts'
import { passwordFingerprint } from '../../src/auth/access/password-fingerprint.ts'
import { deriveKeys } from '../../src/platform/crypto/keys.ts'
import { hashPassword } from '../../src/platform/crypto/password.ts'
import { Signer } from '../../src/platform/crypto/signer.ts'
import { emailOf, sessionId, tokenSecret } from './rows.ts'

/** The public address of the measured server, behind a TLS proxy. */
export const host = 'auth.example.com'
/** The origin of the single-page application. */
export const frontend = 'https://app.example.com'
export const secret = 'Vx4nB7sKq1Lw9dTzR2mFh6cYp3JgA8eUo5iXtG0Q'
export const password = 'correct horse'

export const request = (lines: readonly string[], body = ''): Buffer =>
  Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)

/** GET /api/user with the bearer of every `each`-th token, as a mobile app or another API asks. */
export const bearerRequests = (tokens: number, each = 1): Buffer[] =>
  Array.from({ length: Math.floor(tokens / each) }, (_, i) => {
    const id = (i + 1) * each
    return request([
      'GET /api/user HTTP/1.1',
      `Host: ${host}`,
      'Connection: keep-alive',
      'User-Agent: ExampleApp/4.2',
      'Accept: application/json',
      `Authorization: Bearer ${id}|${tokenSecret(id)}`,
    ])
  })

/** Headers of a request that Chromium sends for a page of the front end. */
export const fromPage: readonly string[] = [
  'sec-ch-ua-platform: "Linux"',
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Accept: application/json, text/plain, */*',
  'sec-ch-ua: "Chromium";v="142", "Not_A Brand";v="99"',
  'sec-ch-ua-mobile: ?0',
  `Origin: ${frontend}`,
  'Sec-Fetch-Site: same-site',
  'Sec-Fetch-Mode: cors',
  'Sec-Fetch-Dest: empty',
  `Referer: ${frontend}/`,
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Accept-Language: en-GB,en;q=0.9',
]

/** The cookies of every `each`-th session. */
export function sessionCookies(sessions: number, each = 1): string[] {
  const signer = new Signer(deriveKeys([secret], '__Host-session-cookie'))
  const xsrf = new Xsrf(deriveKeys([secret], 'xsrf'))
  return Array.from({ length: Math.floor(sessions / each) }, (_, i) => {
    const id = sessionId((i + 1) * each)
    return `__Host-svc_session=${signer.sign(id)}; XSRF-TOKEN=${xsrf.token(id)}`
  })
}

/** GET /api/user with every `each`-th session, as Chromium sends it for a page of the front end. */
export const sessionRequests = (sessions: number, each = 1): Buffer[] =>
  sessionCookies(sessions, each).map((cookie) =>
    request(['GET /api/user HTTP/1.1', `Host: ${host}`, 'Connection: keep-alive', ...fromPage, `Cookie: ${cookie}`]),
  )

/** POST /svc/token with a correct password. */
export const loginRequests = (users: number): Buffer[] =>
  Array.from({ length: users }, (_, i) => {
    const body = JSON.stringify({ email: emailOf(i + 1), password, device_name: 'phone' })
    return request(
      [
        'POST /svc/token HTTP/1.1',
        `Host: ${host}`,
        'Connection: keep-alive',
        'User-Agent: ExampleApp/4.2',
        'Accept: application/json',
        'Content-Type: application/json',
        `Content-Length: ${Buffer.byteLength(body)}`,
      ],
      body,
    )
  })

let hash: string | undefined

/** One hash for all users: argon2id with svc's parameters. */
export function passwordHash(): string {
  hash ??= hashPassword(password)
  return hash
}

/** The cookie of a browser that has signed in to the account. */
export function knownBrowser(email: string): string {
  const [key] = deriveKeys([secret], 'known-browser')
  const expires = String(Date.now() + 80 * 86_400_000)
  const issued = `${email}\0${expires}`
  const macs = [issued, `${issued}\0${passwordFingerprint(passwordHash())}`].map((text) => key?.sign(text))
  return `__Host-svc_browser=${[expires, ...macs].join('.')}`
}

/** POST /login from a same-origin page of a known browser. */
export const sessionLoginRequests = (users: number): Buffer[] =>
  Array.from({ length: users }, (_, i) => {
    const body = JSON.stringify({ email: emailOf(i + 1), password })
    return request(
      [
        'POST /login HTTP/1.1',
        `Host: ${host}`,
        'Connection: keep-alive',
        'Accept: application/json',
        `Origin: ${frontend}`,
        'Sec-Fetch-Site: same-origin',
        `Cookie: ${knownBrowser(emailOf(i + 1))}`,
        'Content-Type: application/json',
        `Content-Length: ${Buffer.byteLength(body)}`,
      ],
      body,
    )
  })
