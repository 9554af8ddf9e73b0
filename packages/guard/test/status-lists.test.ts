// engine: none
import { deflateSync } from 'node:zlib'
import { SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { fakeIssuer, firstKey, newKey, type TestKey } from './issuer.ts'

interface ListChanges {
  bits?: unknown
  lst?: unknown
  header?: object
  claims?: object
  key?: TestKey
}

async function setup(t: Test) {
  const issuer = await fakeIssuer(t)
  const guard = issuer.guard({ statusLists: true })
  const uri = `${issuer.url}/oauth/status/1`
  const withStatus = async (status: unknown) => guard.authenticate([`Bearer ${await issuer.token({ status })}`])
  /** Serves a list with these statuses, one byte each unless `bits` says otherwise. */
  const serve = async (
    bytes: number[],
    { bits = 8, lst, header = {}, claims = {}, key = firstKey }: ListChanges = {},
  ) => {
    const now = Math.floor(issuer.clock.now / 1000)
    const packed = deflateSync(Uint8Array.from(bytes)).toString('base64url')
    const payload = {
      iss: issuer.url,
      sub: uri,
      iat: now,
      exp: now + 300,
      ttl: 60,
      status_list: { bits, lst: lst ?? packed },
    }
    const token = await new SignJWT({ ...payload, ...claims })
      .setProtectedHeader({ alg: 'ES256', typ: 'statuslist+jwt', kid: 'first', ...header })
      .sign(key.privateKey)
    issuer.answer = ({ url }, response) => {
      if (url === '/oauth/status/1') response.end(token)
      else response.end(JSON.stringify({ keys: [firstKey.jwk] }))
    }
  }
  const down = () => {
    issuer.answer = (_request, response) => response.writeHead(503).end()
  }
  const fetches = () => issuer.requests.filter((path) => path === '/oauth/status/1').length
  return {
    issuer,
    uri,
    serve,
    down,
    fetches,
    withStatus,
    at: (idx: unknown) => withStatus({ status_list: { idx, uri } }),
  }
}

const revoked = { status: 401, code: 'unauthenticated', headers: { 'www-authenticate': /error="invalid_token"/ } }
const unavailable = { status: 503, code: 'unavailable' }

t.test('rejects tokens whose status is not valid', async (t) => {
  const { serve, at, fetches } = await setup(t)
  await serve([0, 1, 2, 255])
  t.match(await at(0), { id: '7' })
  for (const idx of [1, 2, 3]) await t.rejects(at(idx), revoked, `status of ${idx}`)
  t.equal(fetches(), 1)
})

t.test('reads lists of 1, 2 and 4 bits', async (t) => {
  const cases: [number, number[], number[], number[]][] = [
    // The example of the specification: 0xb9 0xa3.
    [1, [0xb9, 0xa3], [1, 2, 6, 10, 11, 12, 14], [0, 3, 4, 5, 7, 8, 9, 13, 15]],
    [2, [0xc9, 0x44], [2, 4, 6], [0, 1, 3, 5, 7]],
    [4, [0x10, 0x0f], [0, 3], [1, 2]],
  ]
  for (const [bits, bytes, good, bad] of cases) {
    const { serve, at } = await setup(t)
    await serve(bytes, { bits })
    for (const idx of good) t.match(await at(idx), { id: '7' }, `${bits} bits, ${idx}`)
    for (const idx of bad) await t.rejects(at(idx), revoked, `${bits} bits, ${idx}`)
  }
})

t.test('notices a revocation after the lifetime of the list', async (t) => {
  const { issuer, serve, at } = await setup(t)
  await serve([0])
  t.match(await at(0), { id: '7' })
  await serve([1])
  issuer.clock.now += 59_999
  t.match(await at(0), { id: '7' })
  issuer.clock.now += 1
  await t.rejects(at(0), revoked)
})

t.test('uses the last list until it expires while svc is down, and then answers 503', async (t) => {
  const { issuer, serve, down, at, fetches } = await setup(t)
  await serve([0, 1])
  t.match(await at(0), { id: '7' })
  down()
  issuer.clock.now += 299_999
  t.match(await at(0), { id: '7' })
  await t.rejects(at(1), revoked)
  issuer.clock.now += 1
  await t.rejects(at(0), unavailable)
  await t.rejects(at(0), unavailable)
  t.equal(fetches(), 2, 'a failed attempt counts for a second')
  await serve([0])
  issuer.clock.now += 1_000
  t.match(await at(0), { id: '7' })
})

t.test('answers 503 without a list', async (t) => {
  const { serve, at } = await setup(t)
  const attacker = await newKey('first')
  const lists: ListChanges[] = [
    { key: attacker },
    { header: { typ: 'JWT' } },
    { header: { typ: 'at+jwt' } },
    { claims: { sub: 'https://evil.example/oauth/status/1' } },
    { claims: { iss: 'https://evil.example' } },
    { claims: { exp: 1 } },
    { claims: { ttl: 0 } },
    { claims: { ttl: 'long' } },
    { claims: { status_list: undefined } },
    { claims: { status_list: null } },
    { bits: 3 },
    { lst: 'AAAA' },
    { lst: '%%%' },
    { lst: 7 },
    { lst: deflateSync(new Uint8Array(5 * 1024 * 1024)).toString('base64url') },
  ]
  for (const list of lists) {
    const { serve, at } = await setup(t)
    await serve([0], list)
    await t.rejects(at(0), unavailable, JSON.stringify(list).slice(0, 60))
  }
  await serve([0])
  t.match(await at(0), { id: '7' })
})

t.test('rejects invalid references, and asks no other server', async (t) => {
  const { issuer, uri, serve, at, withStatus } = await setup(t)
  await serve([0])
  const other = await fakeIssuer(t)
  const references = [
    { idx: 0, uri: `${other.url}/oauth/status/1` },
    { idx: 0, uri: `${issuer.url}.evil.example/oauth/status/1` },
    { idx: 0, uri: 7 },
    { idx: 0 },
    { uri },
    null,
    'x',
  ]
  for (const status_list of references)
    await t.rejects(withStatus({ status_list }), revoked, JSON.stringify(status_list))
  for (const status of [null, 'x', 7, {}, []]) await t.rejects(withStatus(status), revoked, JSON.stringify(status))
  for (const idx of [-1, 1, 0.5, '0', null, 2 ** 53]) await t.rejects(at(idx), revoked, `index ${idx}`)
  issuer.answer = ({ url }, response) => {
    if (url === '/oauth/status/2') response.writeHead(302, { location: `${other.url}/oauth/status/1` }).end()
    else response.end(JSON.stringify({ keys: [firstKey.jwk] }))
  }
  await t.rejects(withStatus({ status_list: { idx: 0, uri: `${issuer.url}/oauth/status/2` } }), unavailable)
  t.same(other.requests, [])
  t.match(await withStatus(undefined), { id: '7' }, 'a token without a status')
})

t.test('ignores the status of a token by default', async (t) => {
  const issuer = await fakeIssuer(t)
  const status = { status_list: { idx: 0, uri: `${issuer.url}/oauth/status/1` } }
  t.match(await issuer.guard().authenticate([`Bearer ${await issuer.token({ status })}`]), { id: '7' })
  t.same(issuer.requests, ['/.well-known/jwks.json'])
})
