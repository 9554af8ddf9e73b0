import t from 'tap'
import { strongPassword } from '../../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { day } from '../../../support/clock.ts'
import { clients, codeFlow, introspect, oauthSettings, Person, refresh, request } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const path = '/oauth/tokens'

const build = (t: Parameters<typeof buildTestApp>[0]) =>
  buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })

const status = async ({ bearer }: TestApp, token: string) => (await bearer(token, 'GET', '/api/user')).statusCode

interface Listed {
  id: string
  client: { id: string; name: string }
  scopes: string[]
  created_at: string
  expires_at: string | null
}

async function signedIn(svc: TestApp) {
  const { email, id } = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(email)
  const list = async (): Promise<Listed[]> => (await browser.get(path)).json()
  return { email, id, browser, list }
}

t.test('lists a connected application, and revokes everything of it on disconnection', async (t) => {
  const svc = await build(t)
  const { email, browser, list } = await signedIn(svc)
  t.strictSame(await list(), [])
  const person = new Person(svc, email)
  const tokens = await codeFlow(svc, person, 'web', { scope: 'openid orders:read' })
  const own = await codeFlow(svc, person, 'own', { scope: 'orders:read' })
  const other = await codeFlow(svc, new Person(svc, email), 'other', { scope: 'orders:write' })
  const listed = await list()
  t.same(listed.map(({ client }) => client.id).sort(), ['other', 'web'], 'clients that never ask are not listed')
  const web = listed.find(({ client }) => client.id === 'web')
  t.match(web, { id: /^[0-9a-f]{64}$/, client: { id: 'web', name: 'The Web Shop' }, scopes: ['openid', 'orders:read'] })
  t.strictSame(Object.keys(web ?? {}), ['id', 'client', 'scopes', 'created_at', 'expires_at'])
  const left = Date.parse(web?.expires_at ?? '') - svc.clock.now()
  t.ok(left > 29 * day && left <= 30 * day, 'as long as its refresh token')
  const { gid } = JSON.parse(Buffer.from(tokens.access_token.split('.')[1] ?? '', 'base64url').toString())
  t.notOk(JSON.stringify(listed).includes(gid), "the id is not the grant's own")

  const answer = await browser.delete(`${path}/${web?.id}`)
  t.equal(answer.statusCode, 204, answer.body)
  t.equal(answer.body, '')
  t.equal(await status(svc, tokens.access_token), 401, 'the access token')
  t.same(await introspect(svc, 'watcher', tokens.access_token), { active: false })
  t.same(await introspect(svc, 'watcher', tokens.refresh_token), { active: false })
  const refused = await refresh(svc, 'web', tokens.refresh_token)
  t.equal(refused.statusCode, 400, 'the refresh token')
  t.match(refused.json(), { error: 'invalid_grant' })
  const kept = await svc.database.prisma.oauthRecord.findMany({ where: { kind: { in: ['Grant', 'RefreshToken'] } } })
  t.notOk(
    kept.some((record) => JSON.stringify(svc.app.oauth.seal.open(record)).includes(gid)),
    'deletes every record of the grant',
  )
  t.equal(
    (await person.authorize(request('web', { scope: 'openid orders:read' }))).page,
    'Authorize',
    'consent is asked again',
  )
  t.equal((await browser.delete(`${path}/${web?.id}`)).statusCode, 404)
  t.same(
    (await list()).map(({ client }) => client.id),
    ['other'],
  )
  for (const { access_token } of [own, other])
    t.equal(await status(svc, access_token), 200, 'other grants are not affected')
  t.equal((await refresh(svc, 'other', other.refresh_token)).statusCode, 200)
  const [event] = await svc.database.prisma.event.findMany({ where: { type: 'consent_revoked' } })
  t.same(JSON.parse(event?.data ?? ''), { client_id: 'web' })
})

t.test('lists each device separately, and can revoke remembered consents without a device', async (t) => {
  const svc = await build(t)
  const { email, browser, list } = await signedIn(svc)
  const [one, two] = [new Person(svc, email), new Person(svc, email)]
  const first = await codeFlow(svc, one, 'web', { scope: 'orders:read' })
  const second = await codeFlow(svc, two, 'web', { scope: 'orders:read' })
  const listed = await list()
  t.equal(listed.length, 2)
  await browser.delete(`${path}/${listed[0]?.id}`)
  const alive = [await status(svc, first.access_token), await status(svc, second.access_token)]
  t.same(alive.sort(), [200, 401], 'one device')
  await browser.delete(`${path}/${listed[1]?.id}`)
  t.strictSame(await list(), [])

  // The consent of an expired grant: the client would not ask again.
  await codeFlow(svc, one, 'web', { scope: 'orders:read' })
  await svc.database.prisma.oauthRecord.deleteMany()
  const [remembered] = await list()
  t.match(remembered, { client: { id: 'web' }, scopes: ['orders:read'], expires_at: null })
  const stranger = await signedIn(svc)
  t.equal((await stranger.browser.delete(`${path}/${remembered?.id}`)).statusCode, 404)
  t.equal((await browser.delete(`${path}/${remembered?.id}`)).statusCode, 204)
  t.strictSame(await list(), [])
  t.equal((await one.authorize(request('web', { scope: 'orders:read' }))).page, 'Authorize')
})

t.test("rejects the disconnection of another user's application", async (t) => {
  const svc = await build(t)
  const [one, two] = [await signedIn(svc), await signedIn(svc)]
  const tokens = await codeFlow(svc, new Person(svc, one.email), 'web', { scope: 'orders:read' })
  const [mine] = await one.list()
  t.strictSame(await two.list(), [])
  t.equal((await two.browser.delete(`${path}/${mine?.id}`)).statusCode, 404)
  for (const headers of [{ 'x-xsrf-token': 'wrong' }, { 'x-xsrf-token': undefined }]) {
    t.equal((await one.browser.delete(`${path}/${mine?.id}`, undefined, headers)).statusCode, 419)
  }
  for (const bearer of [null, tokens.access_token]) {
    t.equal((await svc.bearer(bearer, 'DELETE', `${path}/${mine?.id}`)).statusCode, 401)
    t.equal((await svc.bearer(bearer, 'GET', path)).statusCode, 401)
  }
  // Ids of records that are not grants of the user.
  const records = await svc.database.prisma.oauthRecord.findMany({ where: { kind: { not: 'Grant' } } })
  t.ok(records.length > 0)
  for (const id of [
    ...records.map((record) => record.id),
    'x',
    '%00',
    '0'.repeat(64),
    'F'.repeat(64),
    '0'.repeat(65),
  ]) {
    t.equal((await one.browser.delete(`${path}/${id}`)).statusCode, 404, id)
  }
  t.equal(await status(svc, tokens.access_token), 200)
  t.equal((await refresh(svc, 'web', tokens.refresh_token)).statusCode, 200)
  t.equal((await two.list()).length, 0)
})

t.test('omits clients that are no longer registered', async (t) => {
  const svc = await build(t)
  const { email, browser } = await signedIn(svc)
  await codeFlow(svc, new Person(svc, email), 'web', { scope: 'orders:read' })
  const later = await buildTestApp(t, {
    settings: { ...oauthSettings, clients: clients.filter(({ client_id }) => client_id !== 'web') },
    database: svc.where,
    clock: svc.clock,
  })
  const moved = later.browser()
  await moved.signIn(email)
  t.strictSame((await moved.get(path)).json(), [])
  t.equal((await browser.get(path)).json().length, 1)
})

t.test('removes all connections when an account is claimed by a reset', async (t) => {
  const svc = await build(t)
  const { email } = await svc.createUser({ verified: false })
  const browser = svc.browser()
  await browser.signIn(email)
  const person = new Person(svc, email)
  const tokens = await codeFlow(svc, person, 'web', { scope: 'orders:read' })
  const body = { name: 'x', scopes: ['orders:read'] }
  const { accessToken } = (await browser.post('/oauth/personal-access-tokens', body)).json()
  const fresh = (await browser.post('/oauth/token/fresh')).json().access_token
  const held = [tokens.access_token, accessToken, fresh]
  for (const token of held) t.equal(await status(svc, token), 200)
  await svc.browser().post('/forgot-password', { email }, { 'sec-fetch-site': 'same-origin' })
  const token = await svc.mailbox.find(email, /reset-password\/([0-9a-f]{64})/)
  const form = { token, email, password: strongPassword, password_confirmation: strongPassword }
  const reset = await svc.browser().post('/reset-password', form, { 'sec-fetch-site': 'same-origin' })
  t.equal(reset.statusCode, 200, reset.body)
  for (const token of held) t.equal(await status(svc, token), 401)
  t.equal((await refresh(svc, 'web', tokens.refresh_token)).statusCode, 400)
  const owner = svc.browser()
  await owner.signIn(email, strongPassword)
  t.strictSame((await owner.get(path)).json(), [], 'no consent either')
  t.strictSame((await owner.get('/oauth/personal-access-tokens')).json(), [])
})
