import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { mailedLink, registration, strongPassword, visitor } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { hour, minute, second } from '../../support/clock.ts'
import { nextAddress } from '../../support/plain.ts'

const unlimited = { rate_limits: { mail: null, register: null } }
const page = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

/** A registered user in a browser, with the link from the mail. */
async function registered(svc: TestApp, email: string): Promise<{ spa: Browser; link: string }> {
  const spa = await visitor(svc)
  const answer = await spa.post('/register', registration(email))
  if (answer.statusCode !== 201) throw new Error(answer.body)
  return { spa, link: await mailedLink(svc, email) }
}

const isVerified = async (spa: Browser): Promise<boolean> =>
  (await spa.get('/api/user')).json().email_verified_at !== null

const refusals = { signature: 'Invalid signature.', user: 'This action is unauthorized.' }

t.test('verifies by the mailed link in both forms, repeatedly, and records it once', async (t) => {
  const svc = await buildTestApp(t)
  const { spa, link } = await registered(svc, 'grace@example.com')
  t.match(link, /^\/email\/verify\/\d+\/[0-9a-f]{64}\?expires=\d{10}&signature=[\w-]{43}$/)
  t.equal(await isVerified(spa), false)
  const other = link.replace('/email/verify/', '/verify-email/')
  for (const path of [other, link, `${link}&utm_source=mail`]) {
    const answer = await spa.get(path)
    t.equal(answer.statusCode, 204, answer.body)
    t.equal(answer.body, '')
  }
  t.equal((await spa.get('/api/user')).json().email_verified_at, '2026-11-20T12:00:00.000000Z')
  t.equal(await svc.database.prisma.event.count({ where: { type: 'email_verified' } }), 1)
  const browser = await spa.get(link, page)
  t.equal(browser.statusCode, 302)
  t.equal(browser.headers.location, 'http://localhost:8000/?verified=1')
})

t.test('requires a session to verify an address, and continues after the sign-in', async (t) => {
  const svc = await buildTestApp(t)
  const { spa, link } = await registered(svc, 'grace@example.com')
  const token = await svc.createToken((await spa.get('/api/user')).json())
  for (const headers of [{}, { authorization: `Bearer ${token}` }, { accept: '*/*' }]) {
    const answer = await svc.app.inject({ url: link, headers: { accept: 'application/json', ...headers } })
    t.equal(answer.statusCode, 401)
    t.match(answer.json(), { code: 'unauthenticated', message: 'Unauthenticated.' })
  }
  const stranger = svc.browser({ origin: 'http://localhost:8000' })
  const sent = await stranger.get(link, page)
  t.equal(sent.statusCode, 302)
  const login = new URL(String(sent.headers.location))
  t.equal(login.origin + login.pathname, 'http://localhost:8000/oauth/login')
  t.equal(login.searchParams.get('return_to'), link)
  const form = await stranger.get(login.pathname + login.search, page)
  t.equal(form.statusCode, 200)
  const body = { email: 'grace@example.com', password: strongPassword, return_to: link }
  const back = await stranger.post('/oauth/login', body, { ...page, 'sec-fetch-site': 'same-origin' })
  t.equal(nextAddress(back), link, 'the intended address was kept')
  t.equal(await isVerified(spa), false)
  const done = await stranger.get(link, page)
  t.equal(done.headers.location, 'http://localhost:8000/?verified=1')
  t.equal(await isVerified(spa), true)
})

t.test('redirects only to the configured address, whatever Host says', async (t) => {
  const settings = {
    app: { url: 'https://auth.example.com', frontend_url: 'https://app.example.com' },
    links: { login: 'https://app.example.com/sign-in', after_verify: '{frontend_url}/welcome' },
    stateful: ['localhost:5173'],
    server: { trust_proxy: ['127.0.0.1/32'] },
  }
  const svc = await buildTestApp(t, { settings })
  const evil = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'http',
    'x-forwarded-port': '81',
    forwarded: 'host=evil.example',
  }
  const spa = svc.browser({ url: 'https://auth.example.com' })
  await spa.get('/svc/csrf-cookie')
  t.equal((await spa.post('/register', registration('grace@example.com'), evil)).statusCode, 201)
  t.equal((await spa.post('/email/verification-notification', {}, evil)).statusCode, 202)
  const mails = await svc.mailbox.to('grace@example.com')
  t.equal(mails.length, 2)
  for (const mail of mails) {
    t.notMatch(mail.raw, 'evil.example')
    t.match(mail.text, 'https://auth.example.com/email/verify/')
  }
  const link = (await mailedLink(svc, 'grace@example.com')).replace('https://auth.example.com', '')
  const guest = await svc.app.inject({ url: link, headers: { ...page, ...evil } })
  t.match(String(guest.headers.location), /^https:\/\/app\.example\.com\/sign-in\?return_to=%2Femail%2Fverify%2F/)
  const done = await spa.get(link, { ...page, ...evil })
  t.equal(done.headers.location, 'https://app.example.com/welcome')
})

t.test('redirects to no other site when the request line holds a whole URL', async (t) => {
  const svc = await buildTestApp(t)
  await svc.app.listen({ port: 0, host: '127.0.0.1' })
  const address = svc.app.server.address()
  const socket = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1')
  const target = 'http://evil.example/email/verify/1/aa?expires=1'
  socket.end(`GET ${target} HTTP/1.1\r\nHost: evil.example\r\nAccept: text/html\r\nConnection: close\r\n\r\n`)
  const answer = await text(socket)
  t.match(answer, /^HTTP\/1\.1 302 /)
  t.match(answer, 'location: http://localhost:8000/oauth/login?return_to=%2F\r\n')
  t.notMatch(answer, 'evil')
})

t.test('accepts a link for one user, one address and one hour, and rejects forged ones', async (t) => {
  const svc = await buildTestApp(t, { settings: unlimited })
  const grace = await registered(svc, 'grace@example.com')
  const mallory = await registered(svc, 'mallory@example.com')
  const [, id = '', hash = '', expires = '', signature = ''] =
    /verify\/(\d+)\/(\w+)\?expires=(\d+)&signature=(.+)$/.exec(grace.link) ?? []
  const [, otherId = '', otherHash = '', , otherSignature = ''] =
    /verify\/(\d+)\/(\w+)\?expires=(\d+)&signature=(.+)$/.exec(mallory.link) ?? []
  const at = (parts: { id?: string; hash?: string; query?: string }) =>
    `/email/verify/${parts.id ?? id}/${parts.hash ?? hash}?${parts.query ?? `expires=${expires}&signature=${signature}`}`
  const altered: [string, string][] = [
    ['id', at({ id: otherId })],
    ['id with a zero', at({ id: `0${id}` })],
    ['invalid id', at({ id: 'x' })],
    ['hash', at({ hash: otherHash })],
    ['hash in capitals', at({ hash: hash.toUpperCase() })],
    ['later expiry', at({ query: `expires=${Number(expires) + 1}&signature=${signature}` })],
    ['expiry written otherwise', at({ query: `expires=0${expires}&signature=${signature}` })],
    ['invalid expiry', at({ query: `expires=9e9&signature=${signature}` })],
    ['no expiry', at({ query: `signature=${signature}` })],
    ['no signature', at({ query: `expires=${expires}` })],
    ['empty signature', at({ query: `expires=${expires}&signature=` })],
    ['signature of another', at({ query: `expires=${expires}&signature=${otherSignature}` })],
    ['signature shortened', at({ query: `expires=${expires}&signature=${signature.slice(0, -1)}` })],
    ['signature and more', at({ query: `expires=${expires}&signature=${signature}=` })],
    ['NUL', at({ query: `expires=${expires}%00&signature=${signature}` })],
    ['nothing', at({ query: '' })],
  ]
  for (const [name, path] of altered) {
    const answer = await grace.spa.get(path)
    t.equal(answer.statusCode, 403, name)
    t.strictSame(answer.json(), { message: refusals.signature, code: 'forbidden' }, name)
  }
  for (const query of [`expires=${expires}&signature=${signature}&signature=x`, `expires=1&expires=2&signature=a`]) {
    t.equal((await grace.spa.get(at({ query }))).statusCode, 422, 'given twice')
  }
  for (const path of [at({ id: '1'.repeat(30) }), at({ hash: 'a'.repeat(200) })]) {
    t.equal((await grace.spa.get(path)).statusCode, 404)
  }
  const shown = await grace.spa.get(at({ query: '' }), page)
  t.equal(shown.statusCode, 403)
  t.match(shown.headers['content-type'], 'text/html')
  t.match(shown.body, 'This link is invalid')
  t.match((await mallory.spa.get(grace.link, page)).body, 'This link is for another account')
  const foreign = await mallory.spa.get(grace.link)
  t.equal(foreign.statusCode, 403)
  t.equal(foreign.json().message, refusals.user)
  t.equal(await isVerified(grace.spa), false)
  t.equal(await isVerified(mallory.spa), false)
  svc.clock.advance(hour - second)
  t.equal((await grace.spa.get(grace.link)).statusCode, 204, 'to the last second')
  svc.clock.advance(second)
  t.equal((await mallory.spa.get(mallory.link)).json().message, refusals.signature, 'expired')
})

t.test('accepts the signatures of an older secret until it is removed', async (t) => {
  const svc = await buildTestApp(t)
  const { link } = await registered(svc, 'grace@example.com')
  const [before, after] = ['the-secret-of-the-tests-is-32-bytes-long', 'another-secret-that-is-32-bytes-long-too']
  const follow = async (secret: string) => {
    const replica = await buildTestApp(t, { database: svc.where, clock: svc.clock, env: { SVC_SECRET: secret } })
    const spa = replica.browser()
    t.equal((await spa.signIn('grace@example.com', strongPassword)).statusCode, 200)
    return (await spa.get(link)).statusCode
  }
  t.equal(await follow(after), 403)
  t.equal(await follow(`${after},${before}`), 204)
})

t.test('invalidates the link when the address changes; the new one needs its own', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...unlimited, registration: { email_change: 'immediate' } } })
  const { spa, link } = await registered(svc, 'grace@example.com')
  const move = (email: string) => spa.put('/user/profile-information', { name: 'Grace', email })
  await spa.post('/user/confirm-password', { password: strongPassword })
  t.equal((await move('hopper@example.com')).statusCode, 200)
  const old = await spa.get(link)
  t.equal(old.statusCode, 403)
  t.equal(old.json().message, refusals.user)
  t.equal(await isVerified(spa), false)
  t.equal((await spa.get(await mailedLink(svc, 'hopper@example.com'))).statusCode, 204)
  t.equal((await move('grace@example.com')).statusCode, 200)
  t.equal(await isVerified(spa), false, 'verification does not carry over')
  // The link proves that the owner of this mailbox is this user. Within its hour that is true again.
  t.equal((await spa.get(link)).statusCode, 204)
  t.equal((await move('GRACE@example.com')).statusCode, 200)
  t.equal(await isVerified(spa), true, 'another spelling of the address is no change')
})

t.test('resends the mail six times a minute per user, and only to unverified users', async (t) => {
  const svc = await buildTestApp(t)
  const { spa, link } = await registered(svc, 'grace@example.com')
  const again = () => spa.post('/email/verification-notification')
  const first = await again()
  t.equal(first.statusCode, 202)
  const message = 'A new verification link has been sent to your email address.'
  t.strictSame(first.json(), { status: 'verification-link-sent', message })
  t.equal((await svc.mailbox.to('grace@example.com')).length, 2)
  t.equal((await spa.get(`${link}x`)).statusCode, 403, 'an invalid link counts too')
  for (let i = 0; i < 4; i++) t.equal((await again()).statusCode, 202)
  const refused = await again()
  t.equal(refused.statusCode, 429)
  t.match(refused.headers, { 'retry-after': '60', 'x-ratelimit-limit': '6', 'x-ratelimit-remaining': '0' })
  t.equal((await spa.get(link)).statusCode, 429)
  const neighbour = await registered(svc, 'hopper@example.com')
  t.equal((await neighbour.spa.get(neighbour.link)).statusCode, 204, 'by user rather than by address')
  svc.clock.advance(minute)
  t.equal((await spa.get(link)).statusCode, 204)
  const done = await again()
  t.equal(done.statusCode, 204)
  t.equal(done.body, '')
  t.equal((await svc.mailbox.to('grace@example.com')).length, 6)
  t.equal((await svc.bearer(null, 'POST', '/email/verification-notification', {})).statusCode, 401)
})
