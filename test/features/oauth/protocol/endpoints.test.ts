// engine: none
import t, { type Test } from 'tap'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { codeFlow, oauthSettings, Person, request } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** svc with a user, and an access token that the user allowed a client. */
async function withToken(t: Test, scope: string) {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const { access_token } = await codeFlow(svc, new Person(svc, email), 'web', { scope })
  return { svc, token: access_token }
}

const userInfo = ({ app }: TestApp, method: 'GET' | 'POST', token: string) =>
  app.inject({ method, url: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` } })

t.test('requires the scope openid at UserInfo, with GET and with POST', async (t) => {
  const { svc, token } = await withToken(t, 'orders:read')
  for (const method of ['GET', 'POST'] as const) {
    const answer = await userInfo(svc, method, token)
    t.equal(answer.statusCode, 403, `${method} ${answer.body}`)
    t.match(answer.json(), { error: 'insufficient_scope', scope: 'openid' })
  }
})

t.test('answers 503 at UserInfo while the database is away, and again afterwards', async (t) => {
  const { svc, token } = await withToken(t, 'openid')
  const { prisma, transaction } = svc.database
  const { user, grantTokenWithRecord } = svc.app.lookups
  const fail = () => {
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  }
  Object.assign(svc.database, { transaction: fail, prisma: new Proxy(prisma, { get: fail }) })
  Object.assign(svc.app.lookups, { user: fail, grantTokenWithRecord: fail })
  for (const method of ['GET', 'POST'] as const) {
    const answer = await userInfo(svc, method, token)
    t.match(answer, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } }, method)
    t.match(answer.json(), { error: 'temporarily_unavailable' })
  }
  Object.assign(svc.database, { transaction, prisma })
  Object.assign(svc.app.lookups, { user, grantTokenWithRecord })
  t.equal((await userInfo(svc, 'GET', token)).statusCode, 200)
})

t.test('ignores a repeated code on the page for devices', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings })
  const answer = await svc.app.inject('/oauth/device?user_code=BCDF-GHJK&user_code=LMNP-QRST')
  t.equal(answer.statusCode, 200)
  t.notMatch(answer.body, /BCDF-GHJK|LMNP-QRST/)
})

t.test('returns a form with the code to a client that posts its request and needs no consent', async (t) => {
  const url = 'https://id.example'
  const svc = await buildTestApp(t, { settings: { ...oauthSettings, app: { url } }, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const browser = svc.browser({ url })
  await browser.signIn(email, 'correct horse')
  const query = new URLSearchParams(request('own', { scope: 'openid', response_mode: 'form_post' }))
  const headers = { ...form, accept: 'text/html', 'sec-fetch-site': 'same-origin' }
  const answer = await browser.post('/oauth/authorize', Buffer.from(query.toString()), headers)
  t.equal(answer.statusCode, 200, `${answer.headers.location}`)
  t.match(answer.body, /<form method="post" action="http:\/\/localhost:9999\/cb">/)
  t.match(answer.body, /name="code" value="[\w-]+"/)
})
