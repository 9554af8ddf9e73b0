import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { BoundBrowser } from '../../support/bound-browser.ts'
import { day, minute } from '../../support/clock.ts'

const settings = {
  app: { url: 'https://auth.example.com' },
  session: { bound: 'when_available', absolute_lifetime: '30d', lifetime: '30d' },
}

async function start(t: Test) {
  const svc = await buildTestApp(t, { settings })
  const user = await svc.createUser()
  const browser = new BoundBrowser([svc.app], svc.clock)
  await browser.signIn(user.email)
  const [session] = [...browser.sessions.values()]
  if (!session) throw new Error('The browser has bound no session.')
  const refresh = (proof: string | null, id = session.id) =>
    browser.raw('POST', '/session/binding/refresh', undefined, {
      ...(id === '' ? {} : { 'sec-secure-session-id': `"${id}"` }),
      ...(proof === null ? {} : { 'secure-session-response': proof }),
    })
  const challenge = async () =>
    /^"([^"]+)"/.exec(String((await refresh(null)).headers['secure-session-challenge']))?.[1] ?? ''
  return { svc, user, browser, session, refresh, challenge }
}

/** A browser that has signed in and has not registered a key yet, with the challenge that svc offered. */
async function offered(t: Test) {
  const svc = await buildTestApp(t, { settings })
  const user = await svc.createUser()
  const browser = new BoundBrowser([svc.app], svc.clock, { binds: false })
  const signIn = async () => {
    const { headers } = await browser.signIn(user.email)
    return /challenge="([^"]+)"/.exec(String(headers['secure-session-registration']))?.[1] ?? ''
  }
  const register = (proof: string | null) =>
    browser.raw('POST', '/session/binding', undefined, proof === null ? {} : { 'secure-session-response': proof })
  return { svc, user, browser, signIn, register }
}

const pair = (algorithm: string) => generateKeyPair(algorithm, { extractable: true })

t.test('accepts each proof once, and only for its own binding', async (t) => {
  const { svc, browser, session, refresh, challenge } = await start(t)
  const first = await challenge()
  const proof = await browser.proof(session.privateKey, { jti: first, sub: session.id })
  t.equal((await refresh(proof)).statusCode, 200)
  const again = await refresh(proof)
  t.equal(again.statusCode, 403)
  t.equal(again.json().code, 'binding_challenge')
  t.equal(again.headers['set-cookie'], undefined)

  svc.clock.advance(minute)
  const [older, newer] = [await challenge(), await challenge()]
  t.equal((await refresh(await browser.proof(session.privateKey, { jti: newer }))).statusCode, 200)
  t.equal(
    (await refresh(await browser.proof(session.privateKey, { jti: older }))).statusCode,
    403,
    'an older challenge',
  )

  const parallel = await challenge()
  const same = await browser.proof(session.privateKey, { jti: parallel })
  const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(same)))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1, 'parallel requests')

  const old = await challenge()
  svc.clock.advance(2 * day)
  t.equal(
    (await refresh(await browser.proof(session.privateKey, { jti: old }))).statusCode,
    403,
    'an expired challenge',
  )
})

t.test('rejects proofs that the key of the session did not sign', async (t) => {
  const { browser, session, refresh, challenge } = await start(t)
  const other = await pair('ES256')
  const rsa = await pair('RS256')
  const jti = await challenge()
  const claims = { jti, sub: session.id }
  const header = { alg: 'ES256', typ: 'dbsc+jwt' }
  const good = await browser.proof(session.privateKey, claims)
  const [, payload = ''] = good.split('.')
  const none = `${Buffer.from('{"alg":"none","typ":"dbsc+jwt"}').toString('base64url')}.${payload}.`
  const hmac = await new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS256' }).sign(Buffer.alloc(32, 1))
  const proofs: [string, string][] = [
    ['another key', await browser.proof(other.privateKey, claims)],
    [
      'another key that the proof brings along',
      await browser.proof(other.privateKey, claims, await exportJWK(other.publicKey)),
    ],
    ['another algorithm', await browser.proof(rsa.privateKey, claims, undefined, 'RS256')],
    ['no signature', none],
    ['a MAC', hmac],
    [
      'another type',
      await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'JWT' }).sign(session.privateKey),
    ],
    ['another session', await browser.proof(session.privateKey, { ...claims, sub: 'other' })],
    ['another address', await browser.proof(session.privateKey, { ...claims, aud: 'https://evil.example/' })],
    ['a changed signature', `${good.slice(0, -4)}AAAA`],
    ['no JWT', 'a.b.c'],
  ]
  for (const [what, proof] of proofs) {
    const answer = await refresh(proof)
    t.strictSame([answer.statusCode, answer.json().code], [400, 'invalid_binding_proof'], what)
    t.equal(answer.headers['set-cookie'], undefined, what)
  }
  for (const broken of ['', '"', '"a', '???', 'x'.repeat(9_000)]) {
    const answer = await refresh(broken)
    t.equal(answer.statusCode, 403, `is like no proof: ${broken.slice(0, 9)}`)
  }
  for (const id of ['', 'unknown', '"', "' OR 1=1 --", 'x'.repeat(5_000)])
    t.equal((await refresh(good, id)).statusCode, 404, id.slice(0, 9))
  t.equal((await refresh(good)).statusCode, 200, 'the challenge is still unused')
})

t.test('does not let a cookie of one binding open another session', async (t) => {
  const { svc, browser } = await start(t)
  const mallory = await svc.createUser()
  const attacker = new BoundBrowser([svc.app], svc.clock)
  await attacker.signIn(mallory.email)
  const thief = browser.copyOfCookies()
  const own = attacker.cookies.get('__Host-svc_bound')
  svc.clock.advance(31_000)
  if (own) thief.cookies.set('__Host-svc_bound', own)
  t.equal((await thief.raw('GET', '/api/user')).statusCode, 401)
  for (const value of ['9999999999999.x', `9999999999999.${'A'.repeat(43)}`, '', 'null']) {
    thief.cookies.set('__Host-svc_bound', { value, expires: Infinity })
    t.equal((await thief.raw('GET', '/api/user')).statusCode, 401, value)
  }
})

t.test('registers a key only with the challenge of the sign-in, and once', async (t) => {
  const { svc, browser, signIn, register } = await offered(t)
  const { privateKey, publicKey } = await pair('ES256')
  const jwk = await exportJWK(publicKey)
  const first = await signIn()
  const challenge = await signIn()
  const proof = (jti: string, key: JWK | undefined = jwk) => browser.proof(privateKey, { jti }, key)

  const rejected: [string, string | null][] = [
    ['no proof', null],
    ['no key', await browser.proof(privateKey, { jti: challenge })],
    ['the challenge of another session', await proof(first)],
    ['an invented challenge', await proof(`${svc.clock.now()}.${'a'.repeat(43)}.${'b'.repeat(43)}`)],
    ['no challenge', await browser.proof(privateKey, {}, jwk)],
    ['a key on another curve', await proof(challenge, { ...jwk, crv: 'P-384' })],
    ['a symmetric key', await proof(challenge, { kty: 'oct', k: 'AAAA' })],
    [
      'a key that is not the one of the signature',
      await proof(challenge, await exportJWK((await pair('ES256')).publicKey)),
    ],
  ]
  for (const [what, text] of rejected) t.match((await register(text)).json(), { code: 'invalid_binding_proof' }, what)
  t.equal(await svc.database.prisma.sessionBinding.count(), 0)

  const good = await proof(challenge)
  const answers = await Promise.all([register(good), register(good), register(good)])
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 409, 409])
  t.equal((await register(good)).statusCode, 409)
  const [row] = await svc.database.prisma.sessionBinding.findMany()
  t.strictSame(Object.keys(JSON.parse(row?.publicKey ?? '{}')).sort(), ['crv', 'kty', 'x', 'y'])
})

t.test('accepts the key in the claims, as earlier drafts send it, and never keeps a private one', async (t) => {
  const { svc, browser, signIn, register } = await offered(t)
  const { privateKey } = await pair('ES256')
  const jti = await signIn()
  const key = await exportJWK(privateKey)
  const answer = await register(
    await browser.proof(privateKey, { jti, key, aud: 'https://auth.example.com/session/binding' }),
  )
  t.equal(answer.statusCode, 200)
  const [row] = await svc.database.prisma.sessionBinding.findMany()
  t.notMatch(row?.publicKey, /"d"/)
})

t.test('registers no key for guests and for sessions that have ended', async (t) => {
  const { svc, browser, signIn, register } = await offered(t)
  const { privateKey, publicKey } = await pair('ES256')
  const proof = await browser.proof(privateKey, { jti: await signIn() }, await exportJWK(publicKey))
  const session = new Map(browser.cookies)
  browser.cookies.clear()
  t.equal((await register(proof)).statusCode, 401)
  for (const [name, cookie] of session) browser.cookies.set(name, cookie)
  await svc.database.prisma.session.deleteMany()
  t.equal((await register(proof)).statusCode, 401)
})
