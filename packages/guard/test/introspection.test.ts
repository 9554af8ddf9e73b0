// engine: none
import t, { type Test } from 'tap'
import type { IntrospectionOptions } from '../src/options.ts'
import { activeAnswer, audience, fakeIssuer } from './issuer.ts'

const client = { clientId: 'orders api', clientSecret: 'sécret:%' }

async function setup(t: Test, options: Partial<IntrospectionOptions> = {}) {
  const errors: Error[] = []
  const issuer = await fakeIssuer(t)
  const onError = (error: unknown) => errors.push(error as Error)
  const guard = issuer.guard({ introspection: { ...client, ...options }, onError })
  const authenticate = (token: string) => guard.authenticate([`Bearer ${token}`])
  /** Answers with a list made from the tokens of the request. */
  const answerWith = (list: (tokens: string[]) => unknown) => {
    issuer.answer = ({ text }, response) => {
      response.end(JSON.stringify({ tokens: list(new URLSearchParams(text).getAll('tokens[]')) }))
    }
  }
  return { issuer, errors, authenticate, answerWith }
}

const invalid = { status: 401, code: 'unauthenticated', headers: { 'www-authenticate': /error="invalid_token"/ } }
const unavailable = { status: 503, code: 'unavailable', headers: { 'retry-after': '1' } }

t.test('authenticates an API token as its user', async (t) => {
  const { issuer, authenticate } = await setup(t)
  issuer.answer = ({ text, headers }, response) => {
    t.equal(
      headers.authorization,
      `Basic ${btoa(`${encodeURIComponent('orders api')}:${encodeURIComponent('sécret:%')}`)}`,
    )
    t.equal(text, 'tokens%5B%5D=1%7Csecret')
    const answer = { role: 'staff', name: 'CI', exp: null, abilities: ['orders:read', 'x'] }
    response.end(JSON.stringify({ tokens: [activeAnswer('1|secret', answer)] }))
  }
  const caller = await authenticate('1|secret')
  t.match(caller, {
    id: '7',
    kind: 'token',
    abilities: ['orders:read', 'x'],
    role: 'staff',
    name: null,
    expiresAt: null,
  })
  t.match(caller.claims, { token_id: '1', active: true })
})

t.test('sends requests that arrive together as one, with each token once', async (t) => {
  const { issuer, authenticate } = await setup(t)
  const tokens = ['1|a', '2|revoked', '3|c', '1|a']
  const results = await Promise.allSettled(tokens.map(authenticate))
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  )
  t.match(results[1], { reason: invalid })
  t.match(results[2], { value: { claims: { token_id: '3' } } })
  t.same(issuer.batches, [['1|a', '2|revoked', '3|c']])
})

t.test('sends at most 100 tokens in one request', async (t) => {
  const { issuer, authenticate } = await setup(t)
  await Promise.all(Array.from({ length: 250 }, (_, id) => authenticate(`${id + 1}|a`)))
  t.same(issuer.batches.map(({ length }) => length).sort(), [100, 100, 50])
})

t.test('asks again for every request by default', async (t) => {
  const { issuer, authenticate, answerWith } = await setup(t)
  await authenticate('1|a')
  answerWith((tokens) => tokens.map(() => ({ active: false })))
  await t.rejects(authenticate('1|a'), invalid)
  t.equal(issuer.batches.length, 2)
})

t.test('trusts an active token for the configured seconds, never beyond its expiry', async (t) => {
  const { issuer, authenticate, answerWith } = await setup(t, { cacheSeconds: 5 })
  await authenticate('1|a')
  answerWith((tokens) => tokens.map(() => ({ active: false })))
  issuer.clock.now += 4_999
  t.match(await authenticate('1|a'), { id: '7' })
  await t.rejects(authenticate('1|b'), invalid, 'another secret of the same id')
  issuer.clock.now += 1
  await t.rejects(authenticate('1|a'), invalid)
  const exp = issuer.clock.now / 1000 + 2
  answerWith((tokens) => tokens.map((token) => activeAnswer(token, { exp })))
  t.match(await authenticate('1|a'), { expiresAt: exp }, 'inactive answers are not cached')
  issuer.clock.now += 2_000
  await t.rejects(authenticate('1|a'), invalid)
})

t.test('rejects every request if the answer has another order or length', async (t) => {
  const { issuer, errors, authenticate, answerWith } = await setup(t, { cacheSeconds: 5 })
  const lists: ((tokens: string[]) => unknown)[] = [
    (tokens) => tokens.map((token) => activeAnswer(token)).reverse(),
    (tokens) => tokens.map((token) => activeAnswer(token)).slice(1),
    (tokens) => [...tokens, '9|x'].map((token) => activeAnswer(token)),
    () => [],
    () => null,
    () => ({ length: 2, 0: activeAnswer('1|a'), 1: activeAnswer('2|b') }),
    (tokens) => tokens.map(() => null),
    (tokens) => tokens.map((token) => activeAnswer(token, { token_id: undefined })),
    () => [activeAnswer('1|a'), activeAnswer('1|a')],
  ]
  for (const list of lists) {
    answerWith(list)
    const results = await Promise.allSettled([authenticate('1|a'), authenticate('2|b')])
    t.match(results, [{ reason: unavailable }, { reason: unavailable }], String(list))
  }
  t.equal(errors.length, lists.length)
  issuer.answer = null
  t.match(await authenticate('2|b'), { claims: { token_id: '2' } }, 'nothing of it was cached')
})

t.test('rejects active answers that are not for a bearer of this API', async (t) => {
  const { issuer, authenticate, answerWith } = await setup(t)
  const wrong = [
    { active: 'true' },
    { active: 1 },
    { sub: undefined },
    { sub: 7 },
    { abilities: '*' },
    { abilities: [1] },
    { exp: 1 },
    { exp: 'never' },
    { iss: 'https://evil.example' },
    { aud: 'https://billing.example.com' },
    { aud: ['https://billing.example.com'] },
    { cnf: { jkt: 'x' } },
  ]
  for (const changes of wrong) {
    answerWith((tokens) => tokens.map((token) => activeAnswer(token, changes)))
    await t.rejects(authenticate('1|a'), invalid, JSON.stringify(changes))
  }
  answerWith((tokens) => tokens.map((token) => activeAnswer(token, { iss: issuer.url, aud: [audience, 'x'] })))
  t.match(await authenticate('1|a'), { id: '7' })
  answerWith((tokens) => tokens.map((token) => activeAnswer(token, { abilities: undefined })))
  t.match(await authenticate('1|a'), { abilities: ['orders:read'] }, 'the scope, without abilities')
  answerWith((tokens) => tokens.map((token) => activeAnswer(token, { abilities: ['*'] })))
  t.ok((await authenticate('1|a')).can('anything'))
})

t.test('answers 503 while svc is unavailable, and never lets a token through', async (t) => {
  const { issuer, errors, authenticate } = await setup(t)
  const token = activeAnswer('1|a')
  for (const status of [500, 502, 503, 404, 400, 401, 302, 204]) {
    issuer.answer = (_request, response) =>
      response.writeHead(status).end(status === 204 ? '' : JSON.stringify({ tokens: [token] }))
    await t.rejects(authenticate('1|a'), unavailable, String(status))
  }
  t.ok(errors.some((error) => /Check clientId and clientSecret/.test(String(error.cause))))
  issuer.answer = (_request, response) => response.writeHead(429, { 'retry-after': '17' }).end()
  await t.rejects(authenticate('1|a'), { ...unavailable, headers: { 'retry-after': '17' } })
  for (const body of ['', 'null', '[]', '<html>', '{"active":true,"sub":"7"}']) {
    issuer.answer = (_request, response) => response.end(body)
    await t.rejects(authenticate('1|a'), unavailable, body)
  }
  issuer.answer = (_request, response) => response.destroy()
  await t.rejects(authenticate('1|a'), unavailable)
})

t.test('sends neither the token nor its own secret to the target of a redirect', async (t) => {
  const { issuer, authenticate } = await setup(t)
  const evil = await fakeIssuer(t)
  issuer.answer = (_request, response) => response.writeHead(307, { location: `${evil.url}/oauth/introspect` }).end()
  await t.rejects(authenticate('1|a'), unavailable)
  t.same(evil.requests, [])
})

t.test('answers even if the log fails', async (t) => {
  const issuer = await fakeIssuer(t)
  issuer.answer = (_request, response) => response.destroy()
  const onError = () => {
    throw new Error('disk full')
  }
  const guard = issuer.guard({ introspection: client, onError })
  await t.rejects(guard.authenticate(['Bearer 1|a']), unavailable)
})

t.test('asks only about API tokens', async (t) => {
  const { issuer, authenticate } = await setup(t)
  t.match(await authenticate(await issuer.token()), { kind: 'jwt' })
  for (const token of ['random', '|a', '1|', 'a|b', '99999999999999999999|a', '0|a', '01|a', `1|${'a'.repeat(256)}`]) {
    await t.rejects(authenticate(token), invalid, token.slice(0, 25))
  }
  t.same(issuer.batches, [])
  const without = issuer.guard()
  await t.rejects(without.authenticate(['Bearer 1|a']), invalid, 'introspection is not configured')
  t.same(issuer.batches, [])
})
