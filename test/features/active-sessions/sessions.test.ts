import t from 'tap'
import { sha256Hex } from '../../../src/platform/crypto/hash.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { day, hour, minute } from '../../support/clock.ts'

const password = 'correct horse'

interface Listed {
  id: string
  ip_address: string
  user_agent: string
  created_at: string
  last_seen_at: string
  current: boolean
}

async function signedIn(svc: TestApp, email: string, agent: string, more: object = {}, options = {}): Promise<Browser> {
  const spa = svc.browser(options)
  await spa.get('/svc/csrf-cookie')
  const answer = await spa.post('/login', { email, password, ...more }, { 'user-agent': agent })
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return spa
}

const list = async (spa: Browser): Promise<Listed[]> => (await spa.get('/user/sessions')).json()
const isIn = async (spa: Browser): Promise<boolean> => (await spa.get('/api/user')).statusCode === 200

t.test("lists the user's sessions, most recent first, with ids that grant no access", async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const phone = await signedIn(svc, ada.email, 'Phone', {}, { remoteAddress: '2001:db8::7' })
  svc.clock.advance(minute)
  const laptop = await signedIn(svc, ada.email, 'Laptop', {}, { remoteAddress: '192.0.2.7' })
  await signedIn(svc, bob.email, 'Theirs')
  await svc.browser().get('/svc/csrf-cookie')
  const answer = await laptop.get('/user/sessions')
  t.equal(answer.statusCode, 200)
  const sessions: Listed[] = answer.json()
  t.strictSame(
    sessions.map(({ id: _, ...rest }) => rest),
    [
      {
        ip_address: '192.0.2.7',
        user_agent: 'Laptop',
        created_at: '2026-11-20T12:01:00.000000Z',
        last_seen_at: '2026-11-20T12:01:00.000000Z',
        current: true,
        impersonated: false,
        bound: false,
      },
      {
        ip_address: '2001:db8::7',
        user_agent: 'Phone',
        created_at: '2026-11-20T12:00:00.000000Z',
        last_seen_at: '2026-11-20T12:00:00.000000Z',
        current: false,
        impersonated: false,
        bound: false,
      },
    ],
  )
  t.equal((await list(phone)).find(({ current }) => current)?.user_agent, 'Phone')
  const rows = await svc.database.prisma.session.findMany()
  const secrets = [phone, laptop].map(async (spa) => (await spa.cookie('svc_session'))?.split('.')[0] ?? '')
  for (const secret of await Promise.all(secrets)) {
    t.ok(secret)
    for (const { id } of sessions) {
      t.match(id, /^[\w-]{43}$/)
      t.not(id, secret)
      t.not(id, sha256Hex(secret))
      t.notOk(
        rows.some((row) => row.id === id),
        'the id is not the key of a row',
      )
    }
    t.notMatch(answer.body, sha256Hex(secret))
  }
  for (const { id } of sessions) {
    const headers = { cookie: `svc_session=${id}`, origin: 'http://localhost:5173' }
    t.equal((await svc.app.inject({ url: '/api/user', headers })).statusCode, 401)
  }
})

t.test('rejects an ended session and its remember cookie on the next request', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await svc.createUser()
  const here = await signedIn(svc, ada.email, 'Here', { remember: true })
  const lost = await signedIn(svc, ada.email, 'Lost', { remember: true })
  const cookie = await lost.cookie('svc_remember')
  const [session] = (await list(here)).filter(({ user_agent }) => user_agent === 'Lost')
  const answer = await here.delete(`/user/sessions/${session?.id}`)
  t.equal(answer.statusCode, 200)
  t.strictSame(answer.json(), { message: 'Session ended.' })
  const next = await lost.get('/api/user')
  t.equal(next.statusCode, 401)
  const headers = { cookie: `svc_remember=${cookie}`, origin: 'http://localhost:5173' }
  t.equal((await svc.app.inject({ url: '/api/user', headers })).statusCode, 401)
  t.equal((await here.delete(`/user/sessions/${session?.id}`)).statusCode, 404, 'gone after that')
  t.equal(await isIn(here), true)
  t.equal((await list(here)).length, 1)
  t.equal(await svc.database.prisma.event.count({ where: { type: 'session_ended' } }), 1)
})

t.test('ends a remembered browser that came back with its device, whichever of its sessions is named', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await svc.createUser()
  const lost = await signedIn(svc, ada.email, 'Lost', { remember: true })
  const first = await lost.cookie('svc_remember')
  svc.clock.advance(3 * hour)
  t.equal(await isIn(lost), true)
  const second = await lost.cookie('svc_remember')
  t.not(first, second)
  const here = await signedIn(svc, ada.email, 'Here')
  const [session] = (await list(here)).filter(({ current }) => !current)
  t.equal((await here.delete(`/user/sessions/${session?.id}`)).statusCode, 200)
  for (const cookie of [first, second]) {
    const headers = { cookie: `svc_remember=${cookie}`, origin: 'http://localhost:5173' }
    t.equal((await svc.app.inject({ url: '/api/user', headers })).statusCode, 401)
  }
  t.equal(await isIn(lost), false)
})

t.test("ends the own session on request; another user's or an invalid id answers 404", async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const mine = await signedIn(svc, ada.email, 'Mine', { remember: true })
  const theirs = await signedIn(svc, bob.email, 'Theirs', { remember: true })
  const [foreign] = await list(theirs)
  const secret = (await theirs.cookie('svc_session'))?.split('.')[0] ?? ''
  const ids = [
    foreign?.id,
    sha256Hex(secret),
    secret,
    'A'.repeat(43),
    '1',
    '-',
    "'or'1'='1",
    '%00',
    '..',
    'a'.repeat(500),
    '*',
  ]
  for (const id of ids) {
    const answer = await mine.delete(`/user/sessions/${encodeURIComponent(String(id))}`)
    t.equal(answer.statusCode, 404, String(id))
    t.equal(answer.json().code, 'not_found')
  }
  t.equal(await isIn(theirs), true)
  const [own] = await list(mine)
  t.equal((await mine.delete(`/user/sessions/${own?.id}`)).statusCode, 200)
  t.equal(await isIn(mine), false)
  t.equal(await mine.cookie('svc_remember'), undefined)
  t.equal((await mine.signIn(ada.email)).statusCode, 200, 'the browser is signed out')
})

t.test('ends all other sessions with the password, including remembered devices but no tokens', async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const token = await svc.createToken(ada)
  const here = await signedIn(svc, ada.email, 'Here', { remember: true })
  const others = await Promise.all(['A', 'B', 'C'].map((name) => signedIn(svc, ada.email, name, { remember: true })))
  const theirs = await signedIn(svc, bob.email, 'Theirs', { remember: true })
  for (const wrong of [undefined, '', null, 'x', [password], { a: 1 }, 7]) {
    const answer = await here.delete('/user/other-sessions', { password: wrong })
    t.equal(answer.statusCode, 422, JSON.stringify(wrong))
    t.strictSame(answer.json().errors, { password: ['The provided password was incorrect.'] })
  }
  t.equal((await here.delete('/user/other-sessions')).statusCode, 422, 'without a body')
  t.equal((await list(here)).length, 4)
  const answer = await here.delete('/user/other-sessions', { password })
  t.equal(answer.statusCode, 200, answer.body)
  t.strictSame(answer.json(), { message: 'Your other sessions have ended.' })
  for (const spa of others) t.equal(await isIn(spa), false)
  t.equal(await isIn(theirs), true)
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200)
  t.equal((await list(here)).length, 1)
  svc.clock.advance(3 * hour)
  t.equal(await isIn(here), true, 'its own remembered device keeps working')
  const event = await svc.database.prisma.event.findFirstOrThrow({ where: { type: 'sessions_ended' } })
  t.strictSame(JSON.parse(event.data), { count: 3 })
})

t.test('lists no expired sessions', async (t) => {
  const svc = await buildTestApp(t, { settings: { session: { lifetime: '120m', absolute_lifetime: '1d' } } })
  const ada = await svc.createUser()
  const old = await signedIn(svc, ada.email, 'Old')
  svc.clock.advance(2 * hour)
  const here = await signedIn(svc, ada.email, 'Here')
  t.strictSame(
    (await list(here)).map(({ user_agent }) => user_agent),
    ['Here'],
  )
  t.equal(await isIn(old), false)
  await svc.database.prisma.session.updateMany({ data: { createdAt: new Date(svc.clock.now() - day) } })
  const fresh = await signedIn(svc, ada.email, 'Fresh')
  t.strictSame(
    (await list(fresh)).map(({ user_agent }) => user_agent),
    ['Fresh'],
  )
})

t.test('allows only sessions of the same site to list and end sessions', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await svc.createUser()
  const token = await svc.createToken(ada)
  const spa = await signedIn(svc, ada.email, 'Here')
  const [own] = await list(spa)
  for (const bearer of [null, token]) {
    t.equal((await svc.bearer(bearer, 'GET', '/user/sessions')).statusCode, 401)
    t.equal((await svc.bearer(bearer, 'DELETE', `/user/sessions/${own?.id}`)).statusCode, 401)
    t.equal((await svc.bearer(bearer, 'DELETE', '/user/other-sessions', { password })).statusCode, 401)
  }
  const forged = { 'x-xsrf-token': undefined }
  t.equal((await spa.delete(`/user/sessions/${own?.id}`, undefined, forged)).statusCode, 419)
  t.equal((await spa.delete('/user/other-sessions', { password }, forged)).statusCode, 419)
  t.equal(await isIn(spa), true)
})
