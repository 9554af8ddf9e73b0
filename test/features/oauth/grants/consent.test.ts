// engine: none
import { decodeJwt } from 'jose'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import {
  codeFlow,
  hiddenFields,
  introspect,
  oauthSettings,
  Person,
  redeem,
  refresh,
  request,
  response,
} from '../../../support/oauth.ts'
import { credentials, nextAddress } from '../../../support/plain.ts'
import { stopTime } from '../../../support/time.ts'

const asks = (more: Record<string, string> = {}, client = 'web') => request(client, { scope: 'openid', ...more })

t.test('remembers consent by user, client and scope', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const page = async (more: Record<string, string>, client = 'web', who = ada) =>
    (await who.authorize(asks(more, client))).page
  const first = await ada.authorize(asks({ scope: 'openid orders:read orders:write' }))
  t.equal(first.page, 'Authorize')
  t.match(first.answer.body, /The Web Shop/, 'the client')
  t.match(first.answer.body, /localhost:9999/, 'and its address')
  t.match(first.answer.body, /See your orders/, 'and the scopes')
  await ada.decide(first)
  t.equal(await page({ scope: 'openid orders:read orders:write' }), null, 'the same again')
  t.equal(await page({ scope: 'orders:read' }), null, 'less')
  t.equal(await page({ scope: 'openid orders:read email' }), 'Authorize', 'more')
  t.equal(await page({ scope: 'openid', prompt: 'consent' }), 'Authorize', 'on request')
  t.equal(await page({ scope: 'openid orders:read' }, 'other'), 'Authorize', 'another client')
  t.equal(await page({ scope: 'orders:read' }, 'spa'), 'Authorize', 'another client of the same scopes')

  const again = new Person(svc, ada.email)
  await again.signIn()
  t.equal(await page({ scope: 'openid orders:write' }, 'web', again), null, 'in another browser')
  const grace = new Person(svc, (await svc.createUser()).email)
  await grace.signIn()
  t.equal(await page({ scope: 'openid' }, 'web', grace), 'Authorize', 'another user')
})

t.test('limits a token to what was allowed for its request', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const wide = await codeFlow(svc, ada, 'web', { scope: 'openid orders:read orders:write' })
  const narrow = await codeFlow(svc, ada, 'web', { scope: 'orders:read' })
  t.equal(wide.scope, 'openid orders:read orders:write')
  t.equal(narrow.scope, 'orders:read')
  t.match(await introspect(svc, 'web', narrow.access_token), { scope: 'orders:read', scopes: ['orders:read'] })
  const widened = await refresh(svc, 'web', narrow.refresh_token, { scope: 'orders:read orders:write' })
  t.match([widened.statusCode, widened.json().error], [400, 'invalid_scope'])
  t.equal((await refresh(svc, 'web', narrow.refresh_token)).json().scope, 'orders:read')
})

t.test('redirects with an error and the state after a denial', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const stop = await ada.allow(asks(), 'deny')
  t.match(response(stop), { error: 'access_denied', state: 'the-state', iss: /./, code: undefined })
  t.equal((await ada.authorize(asks())).page, 'Authorize', 'and asks the next time')
  t.match(await ada.allow(asks(), 'whatever'), { page: 'Authorize' }, 'only approve approves')
})

t.test('shows nothing with prompt=none, whatever is missing', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  const silent = async (more: Record<string, string> = {}, client = 'web') =>
    response(await ada.authorize(asks({ prompt: 'none', ...more }, client)))
  t.match(await silent(), { error: 'login_required', state: 'the-state', code: undefined })
  await ada.signIn()
  t.match(await silent(), { error: 'consent_required', state: 'the-state', code: undefined })
  await ada.allow(asks())
  t.match(await silent(), { code: /./, error: undefined })
  t.match(await silent({ scope: 'openid orders:read' }), { error: 'consent_required' })
  t.match(await silent({ max_age: '0' }), { error: 'login_required' }, 'a new sign-in cannot be silent')
  t.match(await silent({ scope: 'openid offline_access' }), { code: /./ }, 'offline access is dropped silently')
})

t.test("skips consent for the operator's own clients, unless other apps may get their codes", async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  t.match(response(await ada.authorize(asks({}, 'own'))), { code: /./ }, 'confidential')
  t.match(response(await ada.authorize(asks({ prompt: 'none', scope: 'openid orders:write' }, 'own'))), { code: /./ })
  t.equal((await ada.authorize(asks({}, 'app'))).page, 'Authorize', 'native: any app may listen on that address')
  t.match(response(await ada.authorize(asks({ scope: 'stock:read' }, 'own'))), { error: 'invalid_scope' })
})

t.test(
  'asks for consent for a first-party native client with https redirects, and lets the user disconnect it',
  async (t) => {
    const settings = structuredClone(oauthSettings)
    for (const client of settings.clients) {
      if (client.client_id === 'app') Object.assign(client, { redirect_uris: ['https://app.example/cb'] })
    }
    const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
    const ada = new Person(svc, (await svc.createUser()).email)
    await ada.signIn()
    const asked = asks({ redirect_uri: 'https://app.example/cb' }, 'app')
    const stop = await ada.authorize(asked)
    t.equal(stop.page, 'Authorize')
    t.match(response(await ada.press(stop, { decision: 'approve' })), { code: /./ })
    t.match(response(await ada.authorize({ ...asked, prompt: 'none' })), { error: /_required$/ }, 'never silently')
    const page = svc.browser()
    await page.signIn(ada.email)
    t.match((await page.get('/oauth/tokens')).json(), [{ client: { id: 'app' } }], 'the user sees it as connected')
  },
)

t.test('accepts consent only in the same browser and from the same user', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const [ada, eve] = [new Person(svc, (await svc.createUser()).email), new Person(svc, (await svc.createUser()).email)]
  await ada.signIn()
  await eve.signIn()
  const asked = await ada.authorize(asks())
  t.equal(asked.page, 'Authorize')
  t.equal((await eve.go(asked.path)).answer.statusCode, 404, 'the page belongs to one browser')
  const forged = await eve.plain.post(asked.path, { decision: 'approve' })
  t.ok([403, 404, 419].includes(forged.statusCode), `another browser's answer: ${forged.statusCode}`)
  const crossSite = await ada.plain.browser.send('POST', asked.path, Buffer.from('decision=approve'), {
    'content-type': 'application/x-www-form-urlencoded',
    origin: 'https://evil.example',
    referer: 'https://evil.example/',
  })
  t.equal(crossSite.statusCode, 419, 'a form of another site')
  t.equal((await ada.go(asked.path)).page, 'Authorize', 'and neither decided anything')
  t.match(response(await ada.press(asked, { decision: 'approve' })), { code: /./ })
  t.equal((await ada.go(asked.path)).answer.statusCode, 404, 'the question was asked once')
})

t.test('asks for, shows and returns single claims, and no others', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const told = async (accessToken: string) => (await svc.bearer(accessToken, 'GET', '/oauth/userinfo')).json()
  const plain = await codeFlow(svc, new Person(svc, ada.email), 'web', { scope: 'openid' })
  t.same(Object.keys(await told(plain.access_token)), ['sub'])
  const claims = JSON.stringify({ userinfo: { email: null, phone_number: null }, id_token: { email_verified: null } })
  const asked = await ada.authorize(asks({ claims }))
  t.equal(asked.page, 'Authorize', 'although openid was allowed before')
  t.match(asked.answer.body, 'Read your email address')
  t.notMatch(asked.answer.body, 'Read your name')
  const { code = '' } = response(await ada.decide(asked))
  const tokens = (await redeem(svc, 'web', code)).json()
  t.match(await told(tokens.access_token), { email: ada.email, name: undefined })
  t.match(decodeJwt(tokens.id_token), { email_verified: true, email: undefined })
  t.same(Object.keys(await told(plain.access_token)), ['sub'], 'the token of the other browser has no more than before')
})

t.test('asks each user of a browser for consent', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const [ada, eve] = [await svc.createUser(), await svc.createUser()]
  const browser = new Person(svc, ada.email)
  await browser.signIn()
  const asked = await browser.authorize(asks())
  t.equal(asked.page, 'Authorize')
  await browser.plain.send('/oauth/login?prompt=login', credentials(eve.email))
  t.equal(await browser.plain.user(), eve.id)
  const { _token: xsrf = '' } = hiddenFields((await browser.go('/oauth/login?prompt=login')).answer.body)
  const posted = await browser.plain.post(asked.path, { _token: xsrf, decision: 'approve' })
  t.match(nextAddress(posted), asked.path, "Eve cannot answer Ada's question")
  t.equal(await svc.database.prisma.oauthConsent.count(), 0)
  const again = await browser.go(asked.path)
  t.ok(again.page === 'Authorize' || again.page === 'Sign in' || again.page === 'Error', `the flow ends: ${again.page}`)
  t.notMatch(again.answer.body, ada.email)
})

t.test('asks for a verified address before consent, and from clients without consent', async (t) => {
  const settings = { ...oauthSettings, registration: { require_verified_email: true } }
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const user = await svc.createUser({ verified: false })
  for (const client of ['own', 'web']) {
    const stop = await new Person(svc, user.email).allow(request(client))
    t.equal(stop.out, null, `${client} gets nothing`)
    t.equal(stop.answer.statusCode, 403)
    t.match(stop.answer.body, 'Your email address is not verified')
  }
  const silent = await new Person(svc, user.email).allow(request('own', { prompt: 'none' }))
  t.match(response(silent), { error: 'login_required' })
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { emailVerifiedAt: new Date() } })
  t.ok(response(await new Person(svc, user.email).allow(request('own'))).code)
})
