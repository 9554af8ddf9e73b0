import type { InjectOptions } from 'fastify'

/** A seeded pseudo-random generator (mulberry32). */
function generator(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** The seed of this run; set it to repeat a failure. */
export const seed = Number(process.env.SVC_TEST_SEED ?? 20261120)

const random = generator(seed)
export const randomBelow = (limit: number): number => Math.floor(random() * limit)
export function pick<T>(list: readonly T[]): T {
  const found = list[randomBelow(list.length)]
  if (found === undefined) throw new Error('Nothing to pick from.')
  return found
}
export const chance = (share: number): boolean => random() < share

export const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
export const odd = [
  ...[
    '',
    ' ',
    '0',
    '1',
    '-1',
    '1e9',
    'true',
    'null',
    '*',
    '\0',
    '\u0000x',
    '\ud800',
    '\udc00a',
    '☃',
    '٣',
    '\ufeff',
    '\r\n',
  ],
  ...[
    '../..',
    '%',
    '%00',
    '%zz',
    "'; DROP TABLE users; --",
    '{{7*7}}',
    '<script>',
    '9'.repeat(40),
    'x'.repeat(300),
    'x'.repeat(9_000),
  ],
  ...[
    'a@b.c',
    'A@B.C ',
    'unknown',
    '2026-02-30',
    '2099-01-01',
    '9999-12-31T23:59:59-23:59',
    '-000001-01-01',
    '__proto__',
  ],
]
const names = [
  ...['email', 'password', 'device_name', 'token_name', 'abilities', 'expires_at', 'name', 'title', 'remember'],
  'credential',
]
export const oddValues = [
  '_method',
  '_token',
  '__proto__',
  'constructor',
  'toString',
  'length',
  'code',
  '',
  '\0',
  'a.b',
  'a[0]',
  'x',
]
const segments = [
  '1',
  '0',
  'current',
  'abc',
  '-1',
  '9223372036854775808',
  '%00',
  '%zz',
  '%',
  '%2e%2e%2f',
  '%F0%9F',
  '☃',
  ';',
  'x'.repeat(200),
]
export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
const types = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=B']
const otherTypes = [
  'text/plain',
  '',
  'application/json; charset="',
  'multipart/form-data',
  'x',
  'application/json, text/html',
]

function value(depth = 0): unknown {
  const kind = randomBelow(depth > 3 ? 5 : 8)
  if (kind < 3) return pick(odd)
  if (kind === 3) return pick([0, -1, 1.5, 1e308, 2 ** 53, true, false])
  if (kind === 4) return null
  if (kind === 5) return Array.from({ length: randomBelow(4) }, () => value(depth + 1))
  if (kind === 6) return Array(150).fill('a')
  if (depth === 0 && chance(0.3)) return credential()
  return Object.fromEntries([[pick(oddValues), value(depth + 1)]])
}

/** Looks like the response of an authenticator. */
const credential = (): object => {
  const [id, response] = [pick(odd), ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature']]
  const texts = response.map((name): [string, unknown] => [name, chance(0.5) ? value(1) : 'AAAA'])
  return { id, rawId: id, type: 'public-key', response: Object.fromEntries(texts) }
}

const fields = (): [string, unknown][] => [
  ...names.filter(() => chance(0.5)).map((name): [string, unknown] => [name, chance(0.4) ? 'a@b.c' : value()]),
  ...oddValues.filter(() => chance(0.1)).map((name): [string, unknown] => [name, value()]),
  ...(chance(0.1) ? ([['_method', pick(['DELETE', 'PUT', 'PATCH', 'GET', 'x'])]] as [string, unknown][]) : []),
]

const asText = (given: unknown): string => (typeof given === 'string' ? given : JSON.stringify(given))

/** Larger than the maximum body, and several, because most requests are rejected before their body is read. */
const large = Array<string>(4).fill('x'.repeat(110_000))

function payload(type: string): string {
  if (chance(0.1)) return pick(['', '{', '[]', 'null', '"x"', '5', '\0', nested(200), nested(20_000), '--B', ...large])
  const entries = fields()
  if (type.includes('json')) {
    const extra = chance(0.1) ? `,${JSON.stringify(pick(oddValues))}:${nested(pick([3, 40, 5_000]))}` : ''
    return JSON.stringify(Object.fromEntries([['_', 1], ...entries])).replace(/\}$/, `${extra}}`)
  }
  if (type.includes('form-data')) {
    const part = ([name, text]: [string, unknown]) =>
      `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${asText(text)}\r\n`
    return `${entries.map(part).join('')}--B--\r\n`
  }
  const text = entries
    .map(([name, given]) => `${name}${pick(['', '', '[]', '[0]', '[a][b]'])}=${asText(given)}`)
    .join('&')
  return chance(0.5) ? encodeURI(text.toWellFormed()) : text
}

/** One request to an existing route, with unusual input. */
export function oddRequest(paths: readonly string[], credentials: readonly Record<string, string>[]): InjectOptions {
  const path = pick(paths).replace(/\{[^}]+\}/g, () => pick(segments))
  const query = chance(0.2) ? `?${pick(oddValues)}=${pick(odd)}&any=${pick(odd)}&token=${pick(odd)}&%zz=%` : ''
  const type = chance(0.85) ? pick(types) : pick(otherTypes)
  const headers: Record<string, string> = { ...pick(credentials) }
  if (chance(0.2)) headers.authorization = `${pick(['', 'Bearer ', 'Basic ', 'DPoP '])}${pick(odd)}`
  if (chance(0.1)) headers.cookie = `svc_session=${pick(odd)}; XSRF-TOKEN=${pick(odd)}; remember=${pick(odd)}`
  if (chance(0.1)) headers.origin = pick([...odd, 'null', 'http://localhost:5173', 'http://['])
  if (chance(0.1)) headers['x-xsrf-token'] = pick(odd)
  if (chance(0.1)) headers['sec-fetch-site'] = pick(['same-origin', 'cross-site', ...odd])
  if (chance(0.1)) headers['x-http-method-override'] = pick([...methods, ...odd])
  if (chance(0.1)) headers.accept = pick([...odd, 'text/html', 'application/json'])
  const method = pick(methods)
  const body = ['GET', 'HEAD'].includes(method) && chance(0.9) ? undefined : payload(type)
  if (body !== undefined) headers['content-type'] = type
  const url = `${chance(0.02) ? '//x' : ''}${path}${chance(0.02) ? pick(['/', '/x', '%', '//']) : ''}${query}`
  return { method, url, headers, ...(body === undefined ? {} : { payload: body }) }
}
