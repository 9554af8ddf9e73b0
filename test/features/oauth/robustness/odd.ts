import { gzipSync } from 'node:zlib'
import type { InjectOptions } from 'fastify'
import { chance, methods, nested, odd, oddValues, pick, randomBelow } from '../../../platform/http/odd-requests.ts'
import { jsonValues, oddValue } from './odd-values.ts'
import type { Pieces } from './pieces.ts'

/** Parameters for each path, by name. */
const meant: Readonly<Record<string, string>> = {
  '/oauth/authorize':
    'client_id response_type redirect_uri scope state nonce code_challenge code_challenge_method prompt max_age claims request_uri request response_mode id_token_hint resource login_hint acr_values dpop_jkt ui_locales',
  '/oauth/token':
    'grant_type client_id client_secret code redirect_uri code_verifier refresh_token device_code username password otp scope subject_token subject_token_type resource client_assertion client_assertion_type',
  '/oauth/device/code': 'client_id scope client_secret resource nonce claims max_age',
  '/oauth/device': 'user_code xsrf confirm abort',
  '/oauth/userinfo': 'access_token',
  '/oauth/introspect': 'token token_type_hint client_id client_secret client_assertion client_assertion_type',
  '/oauth/revoke': 'token token_type_hint client_id client_secret',
  '/oauth/logout': 'id_token_hint client_id post_logout_redirect_uri state ui_locales',
  '/oauth/logout/confirm': 'xsrf logout',
  '/oauth/logout/success': 'client_id',
  '/oauth/par':
    'client_id client_secret response_type redirect_uri scope state nonce code_challenge code_challenge_method request_uri request response_mode claims',
  '/oauth/interaction/:uid': 'decision _token',
}

const code =
  'client_id=web client_secret redirect_uri response_type=code scope state nonce code_challenge code_challenge_method=S256'

/** Valid requests by path; at most one part of each is broken. */
const good: Readonly<Record<string, readonly string[]>> = {
  '/oauth/authorize': [
    code.replace('client_secret ', ''),
    `${code.replace('web client_secret', 'third')} prompt claims`,
    `${code.replace('web client_secret', 'third')} response_mode=form_post`,
    'client_id=web request_uri',
    `${code.replace('client_secret ', '')} prompt=none id_token_hint max_age`,
  ],
  '/oauth/token': [
    'grant_type=authorization_code client_id=web client_secret code redirect_uri code_verifier',
    'grant_type=refresh_token client_id=web client_secret refresh_token',
    'grant_type=client_credentials client_id=cron client_secret',
    'grant_type=password client_id=app client_secret username password otp',
    'grant_type=urn:ietf:params:oauth:grant-type:device_code client_id=tv device_code',
    'grant_type=urn:ietf:params:oauth:grant-type:token-exchange client_id=app client_secret subject_token subject_token_type',
  ],
  '/oauth/device/code': ['client_id=tv scope=openid', 'client_id=tv claims max_age nonce'],
  '/oauth/device': ['user_code xsrf', 'user_code xsrf confirm', 'user_code xsrf abort'],
  '/oauth/userinfo': ['access_token'],
  '/oauth/introspect': ['token client_id=cron client_secret', 'token token_type_hint client_id=web client_secret'],
  '/oauth/revoke': ['token client_id=web client_secret', 'token token_type_hint client_id=web client_secret'],
  '/oauth/logout': ['id_token_hint', 'client_id=third post_logout_redirect_uri state', ''],
  '/oauth/logout/confirm': ['xsrf logout', 'xsrf'],
  '/oauth/logout/success': ['client_id=web', ''],
  '/oauth/par': [code, `${code} claims response_mode`, `${code} request`],
  '/oauth/interaction/:uid': ['decision'],
}

const types = [
  'application/x-www-form-urlencoded',
  'application/json',
  'application/x-www-form-urlencoded; charset=utf-16',
]
const otherTypes = [
  'text/plain',
  '',
  'multipart/form-data; boundary=B',
  'multipart/form-data',
  'application/json; charset="',
  'x',
  'application/jwt',
]
const bytes = ['%00', '%ff%fe', '%c0%80', '%ed%a0%80', '%', '%zz', '%0d%0aset-cookie:%20a=b', '\u2603', '%e2%80%ae']
const large = Array<string>(4).fill('x'.repeat(60_000))

const mangled = (value: string): string =>
  pick([
    value,
    value,
    `${value}\0`,
    value.slice(0, -1),
    value.toUpperCase(),
    ` ${value} `,
    value + value,
    `~${value}`,
    `${value}\ud800`,
  ])

/** A header that passes a parser: no control characters, and bytes. */
const sendable = (value: string): string => Buffer.from(value.replace(/\p{Cc}/gu, '')).toString('latin1')

/** Names and values: valid for the path, in order or not, with one part broken. */
function fieldsFor(path: string, { values }: Pieces): [string, string][] {
  const isGood = chance(0.6)
  const names = (isGood ? pick(good[path] ?? ['']) : (meant[path] ?? '')).split(' ').filter((name) => name !== '')
  const chosen = names.filter(() => isGood || chance(0.4))
  const fields = chosen.map((pair): [string, string] => {
    const [name = '', given] = pair.split('=')
    const value =
      given ??
      (values[name]?.length
        ? isGood
          ? values[name][randomBelow(Math.min(2, values[name].length))]
          : pick(values[name])
        : 'x')
    return [name, isGood || chance(0.85) ? String(value) : chance(0.5) ? mangled(String(value)) : oddValue(name)]
  })
  if (isGood && chance(0.5)) return fields
  const last = fields.at(-1)
  if (last && chance(0.3)) last[1] = mangled(last[1])
  const any = fields[randomBelow(fields.length)]
  if (any && chance(0.3)) any[1] = oddValue(any[0])
  if (chance(0.15)) fields.push([pick(Object.keys(values)), pick(odd)])
  if (chance(0.1)) fields.push([pick(oddValues), pick(odd)])
  if (chance(0.1) && fields[0]) fields.push(pick(fields))
  if (chance(0.03)) fields.push(['state', 'x'.repeat(50_000)])
  if (chance(0.02)) for (let i = 0; i < 1_200; i++) fields.push([`x${i}`, ''])
  if (chance(0.1)) fields.splice(randomBelow(fields.length + 1), 1)
  return fields
}

const encoded = (fields: [string, string][]): string =>
  fields
    .map(
      ([name, value]) =>
        `${encodeURIComponent(name.toWellFormed())}=${chance(0.01) ? pick(bytes) : encodeURIComponent(value.toWellFormed())}`,
    )
    .join('&')

/** The text in the encoding that most clients use, or in another. */
function inCharset(text: string): string | Buffer {
  if (chance(0.95)) return text
  const unescaped = text.replaceAll(/%[0-9A-F]{2}/g, (byte) => String.fromCharCode(Number.parseInt(byte.slice(1), 16)))
  return pick([
    Buffer.from(text, 'utf16le'),
    Buffer.from(unescaped, 'latin1'),
    Buffer.from(`\ufeff${text}`),
    gzipSync(text),
    Buffer.from(text.replaceAll('&', ';')),
  ])
}

function bodyOf(type: string, fields: [string, string][]): string | Buffer {
  if (chance(0.05)) return pick(['', '{', '[]', 'null', '"x"', '\0', nested(5_000), '--B', ...large])
  if (chance(0.03)) return Buffer.from([0xff, 0xfe, 0x00, 0x3d, 0xc0, 0x80])
  if (!type.includes('json')) return inCharset(encoded(fields))
  const given = fields.map(([name, value]): [string, unknown] => [name, chance(0.03) ? pick(jsonValues) : value])
  const json = JSON.stringify(Object.fromEntries(given))
  return chance(0.1) ? json.replace(/\}$/, `,"__proto__":${pick(['{}', '"x"', '[1]', nested(50)])}}`) : json
}

const cookieOf = ({ cookies }: Pieces): string => {
  const cookie = pick(cookies)
  if (chance(0.85)) return cookie
  const parts = cookie.split('; ')
  return pick([
    parts.slice(1).join('; '),
    `${cookie}; ${pick(parts)}`,
    cookie.replace(/=[^;]{4}/, '=AAAA'),
    `svc_oauth_session=${pick(odd)}`,
    ';;==;',
  ])
}

/** One unusual request to an OAuth path; `name` identifies it. */
export function oddProtocolRequest(
  paths: Readonly<Record<string, readonly string[]>>,
  pieces: Pieces,
): InjectOptions & { name: string } {
  // Documents take no input, so they get few of the requests.
  const first = pick(Object.keys(paths))
  const name = first.startsWith('/.well-known/') && chance(0.75) ? pick(Object.keys(paths)) : first
  const walk = pick(pieces.walks)
  const spelled = name.replace(':uid', () =>
    chance(0.7) ? walk.uid : pick(['x', '%00', '%ff', '..', '__proto__', 'x'.repeat(300)]),
  )
  const own = paths[name] ?? []
  const method = chance(0.9)
    ? pick(own.filter((verb) => verb !== 'OPTIONS' || chance(0.1)).concat(own[0] ?? 'GET'))
    : pick(methods)
  const fields = fieldsFor(name.replace(/^(\/oauth\/(authorize|device))\/:uid$/, '$1'), pieces)
  const hasBody = !['GET', 'HEAD', 'OPTIONS'].includes(method) || chance(0.02)
  const type = chance(0.9) ? pick(types.slice(0, chance(0.9) ? 2 : 3)) : pick(otherTypes)
  const headers: Record<string, string> = { ...(hasBody ? { 'content-type': type } : {}) }
  const isPage = !/token|code$|userinfo|introspect|revoke|par|well-known/.test(name)
  if (chance(isPage ? 0.9 : 0.2)) headers.cookie = (chance(0.7) && walk.cookies[name]) || cookieOf(pieces)
  if (chance(0.4))
    headers.authorization = chance(0.8)
      ? pick(pieces.authorizations)
      : `${pick(['', 'Bearer ', 'Basic ', 'DPoP '])}${pick(odd)}`
  if (chance(0.03)) headers.dpop = pick(['a.b.c', 'e30.e30.e30', ...odd])
  if (chance(0.1)) headers.origin = pick(['http://localhost:5173', 'http://localhost:9999', 'null', 'http://[', ...odd])
  if (chance(0.5))
    headers.accept = pick(['text/html', 'text/html,application/xhtml+xml,*/*;q=0.8', 'application/json', '*/*', ...odd])
  if (chance(0.1)) headers['access-control-request-method'] = pick(['POST', ...odd])
  if (chance(0.1))
    headers.host = pick([
      'evil.example',
      'evil.example:99999',
      '[::1]',
      '',
      'a b',
      ...odd.filter((text) => text.length < 99),
    ])
  if (chance(0.1)) headers['x-forwarded-host'] = pick(['evil.example', ...odd])
  if (chance(0.1)) headers['x-forwarded-proto'] = pick(['https', 'gopher', ...odd])
  if (chance(0.1)) headers['x-forwarded-for'] = pick(['::1', '6.6.6.6', ...odd])
  if (chance(0.5)) headers['sec-fetch-site'] = chance(0.8) ? 'same-origin' : pick(['cross-site', ...odd])
  if (chance(0.02)) headers['content-length'] = pick(['0', '1', '-1', '99999999999', 'x'])
  if (chance(0.02)) headers['content-encoding'] = pick(['gzip', 'x'])
  for (const [header, value] of Object.entries(headers)) headers[header] = sendable(value)
  const query = hasBody && chance(0.9) ? '' : `?${encoded(fields)}`
  const other = chance(0.02) ? pick(['/', '%', ';', '//', '%2f', 'x']) : ''
  const url = `${spelled}${other}${query}`
  return {
    name: other === '' ? name : 'elsewhere',
    method,
    url,
    headers,
    ...(hasBody ? { payload: bodyOf(type, fields) } : {}),
    ...(randomBelow(20) === 0 ? { remoteAddress: '2001:db8::7' } : {}),
  }
}
