import type { InjectOptions } from 'fastify'
import { chance, pick } from '../../platform/http/odd-requests.ts'

const paths = [
  ...[
    '/oauth/userinfo?',
    '/oauth/userinfo?scope=openid',
    '/oauth/userinfo?scope=openid%20email',
    '/oauth/userinfo?x=y',
  ],
  ...['/oauth/userinfo/', '/oauth//userinfo', '/oauth/%75serinfo', '/OAuth/userinfo', '/oauth/userinfo#x'],
]

const headers: readonly Record<string, string>[] = [
  { origin: 'https://page.example' },
  { origin: 'null' },
  { dpop: 'a.b.c' },
  { dpop: '' },
  { accept: 'text/html', 'sec-fetch-mode': 'navigate' },
  { accept: 'application/jwt' },
  { 'accept-language': 'de' },
  { cookie: 'svc_session=x; XSRF-TOKEN=y' },
  { 'x-http-method-override': 'DELETE' },
  { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'http', 'x-forwarded-host': 'other.example' },
  { host: 'other.example' },
  { 'if-none-match': '*', range: 'bytes=0-1' },
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': 'application/json', 'content-length': '0' },
]

/** Changes of a token that make it another text. */
const respelled: readonly ((token: string) => string)[] = [
  (token) => `${token}=`,
  (token) => `${token}.`,
  (token) => `${token} `,
  (token) => `${token},`,
  (token) => token.slice(0, -1),
  (token) => `${token}A`,
  (token) => token.replace(/^(.{40})./, '$1_'),
  (token) => token.replace(/\..{40}/, '.'),
  (token) => token.split('.').slice(0, 2).join('.'),
  (token) => `${token.split('.').slice(0, 2).join('.')}.`,
  (token) => `${token}.${token}`,
  (token) => token.replaceAll('-', '+').replaceAll('_', '/'),
  () => '',
  () => 'a.b.c',
]

const schemes = ['bearer', 'BEARER', 'Bearer ', ' Bearer', 'Bearer\t', 'DPoP', 'Basic', 'Token', '', 'Bearer Bearer']

/** A random request for UserInfo with one of these tokens, usual in most respects. */
export function userInfoRequest(tokens: readonly string[]): InjectOptions {
  const token = chance(0.85) ? pick(tokens) : pick(respelled)(pick(tokens))
  const scheme = chance(0.9) ? 'Bearer' : pick(schemes)
  const method = chance(0.85) ? 'GET' : pick(['POST', 'HEAD', 'OPTIONS', 'PUT'] as const)
  const sent = chance(0.95) ? { authorization: `${scheme} ${token}` } : {}
  const url = chance(0.9) ? '/oauth/userinfo' : pick(paths)
  const inBody = method === 'POST' && chance(0.5)
  return {
    method,
    url: chance(0.03) ? `/oauth/userinfo?access_token=${encodeURIComponent(token)}` : url,
    headers: {
      ...sent,
      ...(chance(0.1) ? pick(headers) : {}),
      ...(inBody ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
    },
    ...(inBody ? { payload: pick(['', 'scope=openid', `access_token=${token}`, 'access_token=', 'x=y&x=z']) } : {}),
  }
}
