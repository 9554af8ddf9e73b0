// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { hour } from '../../../support/clock.ts'
import { codeFlow, introspect, oauthSettings, Person, token } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

t.test('describes API tokens by abilities, role, id and name', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = await svc.createUser({ role: 'staff' })
  const expiresAt = new Date(svc.clock.now() + hour)
  const abilities = ['orders:read', 'with space', 'quote"', 'ünïcode']
  const text = await svc.createToken(ada, { name: 'Backup', abilities, expiresAt })
  const now = Math.floor(svc.clock.now() / 1000)
  t.strictSame(await introspect(svc, 'watcher', text), {
    active: true,
    sub: String(ada.id),
    scope: 'orders:read',
    scopes: abilities,
    abilities,
    role: 'staff',
    groups: [],
    token_id: Number(text.split('|')[0]),
    name: 'Backup',
    iss: 'http://localhost:8000',
    exp: now + 3600,
    iat: now,
    jti: text.split('|')[0],
    token_type: 'Bearer',
  })
  const none = await introspect(svc, 'watcher', await svc.createToken(ada, { abilities: [] }))
  t.match(none, { active: true, abilities: [] })
  t.notOk('scope' in none, 'no scope instead of an empty one')
})

t.test('records the use of an introspected API token', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings })
  const text = await svc.createToken(await svc.createUser())
  const used = async () => {
    await svc.app.touches.flush()
    const row = await svc.database.prisma.personalAccessToken.findFirst()
    return row?.lastUsedAt ?? null
  }
  t.same(await introspect(svc, 'watcher', `${text}x`), { active: false })
  t.equal(await used(), null)
  await introspect(svc, 'watcher', text)
  t.not(await used(), null)
})

t.test('describes access tokens of clients, of sessions and of users', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = await svc.createUser({ role: 'staff' })
  const { access_token, refresh_token } = await codeFlow(svc, new Person(svc, ada.email), 'web', {
    scope: 'openid orders:read',
  })
  const abilities = ['openid', 'orders:read']
  const { jti } = decodeJwt(access_token)
  t.match(await introspect(svc, 'watcher', access_token), { abilities, role: 'staff', client_id: 'web', jti })
  const own = await introspect(svc, 'web', access_token)
  t.match(own, { active: true, abilities })
  t.notOk('role' in own, 'a client without the scope `roles` does not see the role')

  const browser = svc.browser()
  await browser.signIn(ada.email)
  const fresh = (await browser.post('/oauth/token/fresh')).json().access_token
  const all = ['orders:read', 'orders:write', 'stock:read']
  t.match(await introspect(svc, 'watcher', fresh), { client_id: 'svc-first-party', abilities: all, role: 'staff' })
  const body = { name: 'Backup', scopes: ['orders:read'] }
  const personal = (await browser.post('/oauth/personal-access-tokens', body)).json().accessToken
  t.match(await introspect(svc, 'watcher', personal), { name: 'Backup', abilities: ['orders:read'], role: 'staff' })
  const machine = (await token(svc, 'machine', { grant_type: 'client_credentials' })).json().access_token
  const described = await introspect(svc, 'watcher', machine)
  t.match(described, { sub: 'machine', gty: 'client_credentials', abilities: ['orders:read'] })
  t.notOk('role' in described || 'name' in described)
  for (const jwt of [access_token, fresh, personal, machine]) {
    t.notOk('token_id' in (await introspect(svc, 'watcher', jwt)), 'only API tokens have one')
  }

  const refresh = await introspect(svc, 'watcher', refresh_token)
  t.match(refresh, { active: true, client_id: 'web' })
  for (const member of ['token_type', 'abilities', 'role']) {
    t.notOk(member in refresh, `an API that requires ${member} does not accept a refresh token`)
  }

  await svc.database.prisma.user.update({ where: { id: BigInt(ada.id) }, data: { role: 'user' } })
  t.match(await introspect(svc, 'watcher', access_token), { role: 'user' }, 'the current role')
  await browser.post('/logout')
  t.same(await introspect(svc, 'watcher', fresh), { active: false }, 'it ends with its session')
})

t.test('reports tokens of users as inactive until they verify their address, where svc requires it', async (t) => {
  const settings = { ...oauthSettings, registration: { require_verified_email: true } }
  const svc = await buildTestApp(t, { settings })
  const ada = await svc.createUser()
  const tokens = [
    await svc.createToken(ada),
    (await codeFlow(svc, new Person(svc, ada.email), 'web', { scope: 'orders:read' })).access_token,
    (await token(svc, 'machine', { grant_type: 'client_credentials' })).json().access_token,
  ]
  const areActive = async () => {
    const states = await Promise.all(tokens.map((text) => introspect(svc, 'watcher', text)))
    return states.map(({ active }) => active)
  }
  t.same(await areActive(), [true, true, true])
  await svc.database.prisma.user.update({ where: { id: ada.id }, data: { emailVerifiedAt: null } })
  t.same(await areActive(), [false, false, true], 'the token of a machine belongs to no user')
})

t.test("rejects svc's own clients, which have no secret", async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings })
  const browser = svc.browser()
  await browser.signIn((await svc.createUser()).email)
  const fresh = (await browser.post('/oauth/token/fresh')).json().access_token
  const answer = await svc.app.inject({
    method: 'POST',
    url: '/oauth/introspect',
    payload: { client_id: 'svc-first-party', token: fresh },
  })
  t.same(answer.json(), { active: false })
})
