// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { clients, hiddenFields, oauthSettings, Person, post, request, response, token } from '../../../support/oauth.ts'

const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
const home = 'http://localhost:8000'
const sibling = { 'sec-fetch-site': 'same-site', origin: 'http://evil.localhost:8000' }

/** Headers of browsers for pages that may not act for a visitor. */
const foreign = [
  sibling,
  { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  { 'sec-fetch-site': 'cross-site', origin: 'null' },
  { 'sec-fetch-site': 'same-site', origin: undefined },
  { 'sec-fetch-site': 'none', origin: undefined },
  { 'sec-fetch-site': '', origin: undefined },
  { 'sec-fetch-site': 'Same-Origin', origin: undefined },
]

/** Headers of browsers for pages that may act, and of older browsers. */
const trusted = [
  { 'sec-fetch-site': 'same-origin', origin: home },
  { 'sec-fetch-site': 'same-origin', origin: undefined },
  { 'sec-fetch-site': 'same-site', origin: 'http://localhost:5173' },
  { 'sec-fetch-site': 'cross-site', origin: 'https://listed.example' },
  { 'sec-fetch-site': undefined, origin: undefined },
]

const begin = async (svc: TestApp, client = 'tv'): Promise<Record<string, string>> =>
  (await post(svc, '/oauth/device/code', client, {})).json()

const poll = async (svc: TestApp, { device_code = '' }: Record<string, string>, client = 'tv') =>
  (await token(svc, client, { grant_type, device_code })).json()

const settings = { ...oauthSettings, cors: { origins: ['https://listed.example'] } }

t.test('answers 419 to every form from a page that may not act for the visitor', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const { email } = await svc.createUser()
  const ada = new Person(svc, email)
  const { browser } = ada.plain
  await ada.signIn()
  const consent = await ada.authorize(request('web', { scope: 'openid' }))
  const device = hiddenFields((await ada.go('/oauth/device')).answer.body)
  const form = { accept: 'text/html', referer: undefined, 'content-type': 'application/x-www-form-urlencoded' }
  const send = (path: string, fields: Record<string, string>, headers: Record<string, string | undefined>) =>
    browser.post(path, Buffer.from(new URLSearchParams(fields).toString()), { ...form, ...headers })
  const _token = (await browser.cookie('XSRF-TOKEN')) ?? ''
  const forms: [string, Record<string, string>][] = [
    ['/oauth/device', { ...device, user_code: 'WRONG' }],
    [consent.path, { ...hiddenFields(consent.answer.body), decision: 'approve' }],
    ['/oauth/login', { _token, email, password: 'correct horse' }],
    ['/oauth/sign-out', { _token }],
    ['/user/confirm-password', { _token, password: 'correct horse' }],
    ['/forgot-password', { _token, email }],
  ]
  for (const headers of foreign) {
    for (const [path, fields] of forms) {
      const answer = await send(path, fields, headers)
      t.equal(answer.statusCode, 419, `${path} ${JSON.stringify(headers)}`)
    }
  }
  t.ok(await ada.plain.user(), 'still signed in')
  const logout = hiddenFields((await ada.go('/oauth/logout')).answer.body)
  for (const headers of foreign) {
    const answer = await send('/oauth/logout/confirm', { ...logout, logout: 'yes' }, headers)
    t.equal(answer.statusCode, 419, JSON.stringify(headers))
  }
  t.ok(await ada.plain.user(), 'still signed in')
  for (const headers of trusted) {
    const secret = hiddenFields((await ada.go('/oauth/device')).answer.body)
    const answer = await send('/oauth/device', { ...secret, user_code: 'WRONG' }, headers)
    t.equal(answer.statusCode, 400, `wrong code: ${JSON.stringify(headers)}`)
    const confirmed = await send('/user/confirm-password', { _token, password: 'correct horse' }, headers)
    t.equal(confirmed.statusCode, 201, JSON.stringify(headers))
  }
})

t.test('allows other sites to begin an authorization and a sign-out', async (t) => {
  const url = 'https://id.example'
  const svc = await buildTestApp(t, { settings: { ...settings, app: { url } } })
  for (const path of ['/oauth/authorize', '/oauth/logout']) {
    for (const headers of foreign) {
      const answer = await svc.app.inject({
        method: 'POST',
        url: path,
        headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)),
        payload: new URLSearchParams(request('web')).toString(),
      })
      t.not(answer.statusCode, 419, `${path} ${JSON.stringify(headers)}`)
    }
  }
})

t.test('invalidates a form secret that another page planted when a user takes the session over', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings })
  const attacker = new Person(svc, 'unknown@example.com')
  const secret = hiddenFields((await attacker.go('/oauth/device')).answer.body)
  const planted = await attacker.plain.browser.jar.getCookies(`${home}/oauth/device`)
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  for (const cookie of planted.filter(({ key }) => key.includes('svc_oauth_session'))) {
    await ada.plain.browser.jar.setCookie(`${cookie.cookieString()}; Path=/oauth`, `${home}/oauth/device`)
  }
  const begun = await begin(svc)
  const fields = { ...secret, user_code: begun.user_code ?? '', confirm: 'yes' }
  const answer = await ada.plain.post('/oauth/device', fields)
  t.equal(answer.statusCode, 400)
  t.match(await poll(svc, begun), { error: 'authorization_pending' })
})

t.test('asks for consent each time a public client connects a device, first-party or not', async (t) => {
  const device = () => ({ type: 'public', grants: ['device_code'], scopes: ['orders:read'] })
  const own = [
    { client_id: 'own-tv', first_party: true, ...device() },
    { client_id: 'own-app', first_party: true, ...device(), redirect_uris: ['https://own.example/cb'] },
  ]
  const svc = await buildTestApp(t, { settings: { ...oauthSettings, clients: [...clients, ...own] } })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  for (const client of ['own-tv', 'own-app', 'tv', 'tv']) {
    const { user_code = '', ...begun } = await (
      await svc.app.inject({ method: 'POST', url: '/oauth/device/code', payload: { client_id: client } })
    ).json()
    const confirm = await ada.press(await ada.go('/oauth/device'), { user_code })
    const asked = await ada.press(confirm, { confirm: 'yes' })
    t.equal(asked.page, 'Authorize', client)
    const payload = { grant_type, client_id: client, device_code: begun.device_code }
    const pending = await svc.app.inject({ method: 'POST', url: '/oauth/token', payload })
    t.match(pending.json(), { error: /authorization_pending|slow_down/ }, client)
    const done = await ada.press(asked, { decision: 'approve' })
    t.match(done.answer.body, 'role="status"', client)
  }
  t.match(response(await ada.authorize(request('own'))), { code: String }, 'a confidential one is not asked')
})

t.test('keeps the cookies of the eight newest authorizations, so that no site can fill a browser', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  let last = await ada.authorize(request('web', { scope: 'openid' }))
  for (let count = 0; count < 12; count++) last = await ada.authorize(request('web', { scope: 'openid' }))
  const kept = async (part: string) =>
    (await ada.plain.browser.jar.getCookies(home)).filter(({ key }) => key.includes(part)).length
  t.equal(await kept('svc_oauth_interaction_'), 8)
  t.equal(await kept('svc_oauth_resume_'), 8)
  t.match(response(await ada.press(last, { decision: 'approve' })), { code: String }, 'the newest continues')
  t.equal(await kept('svc_oauth_interaction_'), 7, 'and removes its cookies')
  t.equal(await kept('svc_oauth_resume_'), 7)
})
