// engine: none
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { fakeIssuer, firstKey, newKey } from './issuer.ts'

const second = await newKey('second')

async function setup(t: Test) {
  const errors: unknown[] = []
  const issuer = await fakeIssuer(t)
  const guard = issuer.guard({ onError: (error) => errors.push(error) })
  const authenticate = async (...token: Parameters<typeof issuer.token>) =>
    guard.authenticate([`Bearer ${await issuer.token(...token)}`])
  const withKid = (kid: string) => authenticate({}, { kid })
  const down = (_: unknown, response: ServerResponse) => response.writeHead(503).end()
  return { issuer, guard, errors, authenticate, withKid, down }
}

const invalid = { status: 401, code: 'unauthenticated' }
const unavailable = { status: 503, code: 'unavailable', headers: { 'retry-after': '1' } }

t.test('fetches the key set once for concurrent and later requests', async (t) => {
  const { issuer, authenticate } = await setup(t)
  await Promise.all(Array.from({ length: 10 }, () => authenticate()))
  await authenticate()
  t.same(issuer.requests, ['/.well-known/jwks.json'])
})

t.test('fetches the key set for an unknown key id, at most every 30 seconds', async (t) => {
  const { issuer, authenticate, withKid } = await setup(t)
  await authenticate()
  issuer.publish(firstKey, second)
  await t.rejects(authenticate({}, {}, second), invalid, 'fetched a moment ago')
  issuer.clock.now += 29_999
  await t.rejects(authenticate({}, {}, second), invalid)
  issuer.clock.now += 1
  t.match(await authenticate({}, {}, second), { id: '7' })
  t.equal(issuer.requests.length, 2)

  await Promise.all(Array.from({ length: 50 }, (_, n) => t.rejects(withKid(`invented-${n}`), invalid)))
  t.equal(issuer.requests.length, 2)
  issuer.clock.now += 30_000
  await Promise.all(Array.from({ length: 50 }, (_, n) => t.rejects(withKid(`invented-${n}`), invalid)))
  t.equal(issuer.requests.length, 3, 'one request for all of them')
  t.match(await authenticate(), { id: '7' }, 'the known keys still work')
})

t.test('keeps the key set while svc is down', async (t) => {
  const { issuer, errors, authenticate, withKid, down } = await setup(t)
  await authenticate()
  issuer.answer = down
  issuer.clock.now += 3_600_000
  t.match(await authenticate(), { id: '7' })
  t.match(await authenticate(), { id: '7' })
  t.equal(issuer.requests.length, 2, 'the failed attempt counts for 30 seconds')
  t.match(errors, [{ message: /answered 503/ }])
  await t.rejects(withKid('unknown'), unavailable, 'only svc could decide about another key')
  issuer.answer = (_request, response) => response.end('<html>')
  issuer.clock.now += 30_000
  t.match(await authenticate(), { id: '7' }, 'an answer of something else')
  issuer.answer = null
})

t.test('stops trusting a removed key after ten minutes', async (t) => {
  const { issuer, authenticate } = await setup(t)
  await authenticate()
  issuer.publish(second)
  issuer.clock.now += 600_000
  t.match(await authenticate(), { id: '7' })
  issuer.clock.now += 1
  await t.rejects(authenticate(), invalid)
})

t.test('answers 503 until it has a key set, and recovers', async (t) => {
  const { issuer, authenticate, down } = await setup(t)
  issuer.answer = down
  await t.rejects(authenticate(), unavailable)
  await t.rejects(authenticate(), unavailable)
  t.equal(issuer.requests.length, 1, 'at most every second')
  issuer.answer = null
  issuer.clock.now += 1_000
  t.match(await authenticate(), { id: '7' })
})

t.test('does not follow a redirect to other keys', async (t) => {
  const { issuer, authenticate } = await setup(t)
  const attacker = await newKey('first')
  const evil = await fakeIssuer(t)
  evil.publish(attacker)
  issuer.answer = (_request, response) =>
    response.writeHead(302, { location: `${evil.url}/.well-known/jwks.json` }).end()
  await t.rejects(authenticate({}, {}, attacker), unavailable)
  t.same(evil.requests, [])
})

t.test('answers 503 if svc does not answer in time', async (t) => {
  const issuer = await fakeIssuer(t)
  issuer.answer = () => undefined
  const guard = issuer.guard({ timeout: 20 })
  await t.rejects(guard.authenticate([`Bearer ${await issuer.token()}`]), unavailable)
})

t.test('verifies with a fixed key set without a request', async (t) => {
  const issuer = await fakeIssuer(t)
  const guard = issuer.guard({ keys: { keys: [firstKey.jwk as never] } })
  t.match(await guard.authenticate([`Bearer ${await issuer.token()}`]), { id: '7' })
  t.same(issuer.requests, [])
})
