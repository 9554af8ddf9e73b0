import t from 'tap'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { codeFlow, oauthSettings, Person, redeem, request } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'
import { kinds } from './party.ts'

const user = { scope: 'openid orders:read' }

t.test('does not rewrite an ended session from a stale read', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const { email, id } = await svc.createUser()
  const person = new Person(svc, email)
  const { access_token } = await codeFlow(svc, person, 'own', user)
  const { provider } = await svc.app.oauth.current()
  const { prisma } = svc.database
  const row = await prisma.oauthRecord.findFirstOrThrow({ where: { kind: 'Session' } })
  const grantRow = await prisma.oauthRecord.findFirstOrThrow({ where: { kind: 'Grant' } })
  const { seal } = svc.app.oauth
  const session = await provider.Session.findByUid(String(seal.open(row)?.uid))
  const grant = await provider.Grant.find(String(seal.open(grantRow)?.jti))
  t.ok(session && grant)
  const sessionId = row.sessionId ?? ''
  await person.plain.browser.post('/logout', undefined, { 'sec-fetch-site': 'same-origin' })

  await t.rejects(async () => session?.save(3600), { name: 'SessionNotFound' })
  await t.rejects(async () => grant?.save(), { name: 'SessionNotFound' })
  session?.resetIdentifier()
  await t.rejects(async () => session?.save(3600), { name: 'SessionNotFound' }, 'nor under another name')
  const late = Reflect.construct(provider.Session, [{ accountId: String(id), sessionId }])
  await t.rejects(late.save(3600), { name: 'SessionNotFound' }, 'nor a new one')
  const lateGrant = Reflect.construct(provider.Grant, [{ accountId: String(id), clientId: 'own', sessionId }])
  await t.rejects(lateGrant.save(), { name: 'SessionNotFound' })
  const nameless = Reflect.construct(provider.Session, [{ accountId: String(id) }])
  await t.rejects(nameless.save(3600), { name: 'SessionNotFound' }, 'nor one without a browser')
  t.same(await kinds(svc), { Interaction: 1 }, 'only the mark of the completed sign-in')
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 401)
})

t.test("does not bind an OAuth session to another user's session", async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const [a, b] = [await svc.createUser(), await svc.createUser()]
  const person = new Person(svc, a.email)
  await codeFlow(svc, person, 'own', user)
  const { provider } = await svc.app.oauth.current()
  const row = await svc.database.prisma.oauthRecord.findFirstOrThrow({ where: { kind: 'Session' } })
  const forged = Reflect.construct(provider.Session, [{ accountId: String(b.id), sessionId: row.sessionId }])
  await t.rejects(forged.save(3600), { name: 'SessionNotFound' })
})

t.test('leaves no valid token after concurrent sign-outs and authorizations on two replicas', async (t) => {
  const clock = stopTime(t)
  const svc = await buildTestApp(t, { settings: oauthSettings, clock })
  const replica = await buildTestApp(t, { settings: oauthSettings, clock, database: svc.where })
  for (let round = 0; round < 8; round++) {
    const { email } = await svc.createUser()
    const person = new Person(svc, email)
    await codeFlow(svc, person, 'own', user)
    const cookie = await person.plain.browser.jar.getCookieString('http://localhost:8000/')
    const url = `/oauth/authorize?${new URLSearchParams(request('own', user))}`
    const ask = ({ app }: TestApp) => app.inject({ url, headers: { cookie, accept: 'text/html' } })
    const bare = cookie.replace(/svc_oauth_session[^;]*;?/g, '')
    const anew = ({ app }: TestApp) => app.inject({ url, headers: { cookie: bare, accept: 'text/html' } })
    const out = person.plain.browser.post('/logout', undefined, { 'sec-fetch-site': 'same-origin' })
    const answers = await Promise.all([ask(svc), ask(replica), anew(svc), out, anew(replica), ask(replica), ask(svc)])
    t.notOk(answers.some(({ statusCode }) => statusCode >= 500))
    const left = await svc.database.prisma.oauthRecord.count({ where: { kind: 'Session', userId: { not: null } } })
    t.equal(left, 0, `round ${round}`)
    for (const { headers } of answers) {
      const code = new URL(headers.location ?? '/', 'http://localhost:8000').searchParams.get('code')
      if (code) t.equal((await redeem(svc, 'own', code)).statusCode, 400, 'nor does a code work')
    }
  }
})
