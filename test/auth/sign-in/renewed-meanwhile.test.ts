import { Readable } from 'node:stream'
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { beforeNextTransaction } from '../../support/meanwhile.ts'
import { oauthSettings, Person, request } from '../../support/oauth.ts'

/** Passwords in the order of their changes. */
const passwords = ['correct horse', 'another long horse', 'a third long horse', 'a fourth long horse']

t.test('refuses a request with a copied cookie if the password changed while its body arrived', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...oauthSettings, rate_limits: { login: null } } })
  const { email, id } = await svc.createUser()
  const browser = svc.browser({ origin: 'http://localhost:8000' })
  await browser.signIn(email)
  let changes = 0
  const change = async () => {
    const [current_password, password] = passwords.slice(changes++)
    const body = { current_password, password, password_confirmation: password, revoke_tokens: true }
    t.equal((await browser.put('/user/password', body)).statusCode, 200)
  }
  const copied = async () => {
    const thief = svc.browser({ origin: 'http://localhost:8000' })
    return Object.assign(thief, { jar: await browser.jar.clone() })
  }

  const creator = await copied()
  beforeNextTransaction(svc, change)
  t.equal((await creator.post('/api/tokens/create', { token_name: 'Backdoor' })).statusCode, 401)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)

  const renamer = await copied()
  beforeNextTransaction(svc, change)
  t.equal((await renamer.put('/user/profile-information', { name: 'Eve', email })).statusCode, 401)
  t.not((await browser.get('/api/user')).json().name, 'Eve')

  const person = new Person(await copied(), email)
  const asked = await person.authorize(request('web', { scope: 'openid offline_access', prompt: 'consent' }))
  t.equal(asked.page, 'Authorize')
  beforeNextTransaction(svc, change)
  const answer = await person.press(asked, { decision: 'approve' })
  t.equal(answer.out, null, 'no code')
  t.equal(await svc.database.prisma.oauthConsent.count({ where: { userId: BigInt(id) } }), 0)
  t.equal(changes, 3)
})

t.test('issues no code if the password changed while the body of the request arrived', async (t) => {
  const url = 'https://id.example'
  const svc = await buildTestApp(t, { settings: { ...oauthSettings, app: { url } } })
  const { email } = await svc.createUser()
  const browser = svc.browser({ url })
  await browser.signIn(email)
  const cookie = await browser.jar.getCookieString(url)
  const fields = Buffer.from(`${new URLSearchParams(request('own', { scope: 'openid offline_access' }))}`)
  const [current_password, password] = passwords
  const change = { current_password, password, password_confirmation: password, revoke_tokens: true }
  const body = async function* () {
    yield fields.subarray(0, 1)
    t.equal((await browser.put('/user/password', change)).statusCode, 200)
    yield fields.subarray(1)
  }
  const headers = { host: 'id.example', cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin' }
  const length = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': `${fields.length}` }
  const post = { method: 'POST', url: '/oauth/authorize', payload: Readable.from(body()) } as const
  const answer = await svc.app.inject({ ...post, headers: { ...headers, ...length } })
  t.equal(answer.statusCode, 400)
  t.notMatch(answer.headers.location, 'code=')
  t.equal(await svc.database.prisma.oauthRecord.count({ where: { kind: { in: ['Grant', 'AuthorizationCode'] } } }), 0)
})
