// engine: none
import t from 'tap'
import { addAccount, formsOn, hides, openAccount, press, rejectsForgeries } from '../../../support/account-pages.ts'
import { callback, codeFlow, introspect, oauthSettings, Person, request, secret } from '../../../support/oauth.ts'
import { redirectOf } from '../../../support/plain.ts'

const path = '/account/applications'
const forms = /^\/account\/applications\/[0-9a-f]{64}\/disconnect$/

t.test('lists connected apps with what they may do, and disconnects one', async (t) => {
  const { svc, user, browser } = await openAccount(t, oauthSettings)
  t.match((await browser.open(path)).body, 'No app can access your account.')
  const person = new Person(svc, user.email)
  const tokens = await codeFlow(svc, person, 'web', { scope: 'openid orders:read' })
  await codeFlow(svc, person, 'own', { scope: 'orders:read' })
  const { body } = await browser.open(path)
  for (const words of ['The Web Shop', 'Know who you are', 'See your orders', 'Connected since ']) t.match(body, words)
  const german = await browser.open(path, { 'accept-language': 'de' })
  for (const words of ['Sie identifizieren', 'See your orders']) t.match(german.body, words)
  t.notMatch(body, 'Change your orders')
  const actions = formsOn(body, forms)
  t.equal(actions.length, 1, 'clients that never ask are not listed')
  const action = actions[0] ?? ''
  await rejectsForgeries(t, browser, action)

  const stranger = await addAccount(t, svc)
  t.equal((await press(stranger.browser, path, action)).statusCode, 404, 'not for other users')
  t.notMatch((await stranger.browser.open(path)).body, 'The Web Shop')
  t.match(await introspect(svc, 'watcher', tokens.access_token), { active: true })

  t.strictSame(redirectOf(await press(browser, path, action)), [303, `${path}?done=disconnected`])
  const after = await browser.open(`${path}?done=disconnected`)
  t.match(after.body, 'The app is disconnected.')
  t.match(after.body, 'No app can access your account.')
  t.same(await introspect(svc, 'watcher', tokens.access_token), { active: false })
  t.equal((await press(browser, path, action)).statusCode, 404)
  t.equal((await press(browser, path, `${path}/1/disconnect`)).statusCode, 404)
})

t.test('escapes the names of apps and scopes', async (t) => {
  const evil = '"><script>alert(1)</script>'
  const clients = oauthSettings.clients.map((client) =>
    client.client_id === 'web' ? { ...client, name: evil } : client,
  )
  const scopes = { ...oauthSettings.scopes, 'orders:read': `<b>${evil}` }
  const { svc, user, browser } = await openAccount(t, { ...oauthSettings, scopes, clients })
  await codeFlow(svc, new Person(svc, user.email), 'web', { scope: 'orders:read' })
  const { body } = await browser.open(path)
  t.match(body, '&quot;&gt;&lt;script&gt;')
  t.notMatch(body, '<script>alert')
})

t.test('shows many connections on several pages', async (t) => {
  const names = Array.from({ length: 60 }, (_, index) => `client-${index}`)
  const client = { type: 'confidential', secret, grants: ['authorization_code'], redirect_uris: [callback] }
  const { svc, user, browser } = await openAccount(t, {
    clients: names.map((client_id) => structuredClone({ ...client, client_id })),
  })
  for (const [index, clientId] of names.entries()) {
    const createdAt = new Date(svc.clock.now() + index)
    await svc.database.prisma.oauthConsent.create({
      data: { userId: BigInt(user.id), clientId, scope: 'openid', createdAt },
    })
  }
  const first = (await browser.open(path)).body
  const [, next = ''] = /id="more" href="([^"]+)"/.exec(first) ?? []
  const second = (await browser.open(next)).body
  t.same(
    [first, second].map((body) => formsOn(body, forms).length),
    [50, 10],
  )
  t.notMatch(second, 'id="more"')
  t.equal(new Set([...formsOn(first, forms), ...formsOn(second, forms)]).size, 60)
  t.equal(formsOn((await browser.open(`${path}?after=unknown`)).body, forms).length, 50)
})

t.test('hides the section where the configuration does, or has no client that asks for consent', async (t) => {
  await hides(t, 'applications', oauthSettings)
  const { browser } = await openAccount(t)
  t.equal((await browser.open(path)).statusCode, 404)
})

t.test('lists the permissions of the consent page, in its order and language', async (t) => {
  const { scopes, clients } = oauthSettings
  const { svc, user, browser } = await openAccount(t, {
    ...oauthSettings,
    i18n: { messages: { de: { 'scope.orders:read': 'Ihre Bestellungen sehen' } } },
    clients: clients.map((client) =>
      client.client_id === 'web'
        ? { ...client, claims: ['role'], scopes: [...(client.scopes ?? []), 'roles'] }
        : client,
    ),
  })
  const person = new Person(svc, user.email)
  await person.signIn()
  const shown = (body: string) => {
    const [, list = ''] = /<ul class="grants"[^>]*>(.*?)<\/ul>/s.exec(body) ?? []
    return [...list.matchAll(/<li>([^<]+)<\/li>/g)].map(([, words]) => words)
  }
  for (const language of ['en', 'de']) {
    const header = { 'accept-language': language }
    const asking = { scope: 'orders:read email openid', prompt: 'consent', ui_locales: language }
    const consent = await person.authorize(request('web', asking))
    const asked = shown(consent.answer.body)
    t.equal(asked.length, 4, consent.answer.body)
    t.equal(asked[3], language === 'de' ? 'Ihre Bestellungen sehen' : scopes['orders:read'], 'after those of svc')
    await person.press(consent, { decision: 'approve' })
    const connected = (await browser.open(path, header)).body
    t.strictSame(shown(connected), asked, language)
  }
})
