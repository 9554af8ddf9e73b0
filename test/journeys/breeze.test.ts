// engine: none
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import axios, { type AxiosInstance, type AxiosResponse } from 'axios'
import t, { type Test } from 'tap'
import { CookieJar } from 'tough-cookie'
import { parse, stringify } from 'yaml'
import { createTestDatabase } from '../support/postgresql.ts'
import { freePort, startMain, temporaryDirectory } from '../support/process.ts'
import { SmtpReceiver } from '../support/smtp.ts'
import { until } from '../support/until.ts'

const frontEnd = 'http://localhost:3000'
const guideFile = new URL('../../docs/guides/laravel-sanctum/svc.yaml', import.meta.url)

/** Starts svc as the backend of an SPA for laravel/breeze-next, with the configuration of the guide. */
async function startBackend(t: Test) {
  const database = await createTestDatabase()
  t.teardown(database.drop)
  const mails = await SmtpReceiver.start()
  t.teardown(() => mails.close())
  const cwd = temporaryDirectory(t)
  const port = await freePort()
  const guide = parse(readFileSync(guideFile, 'utf8'))
  const config = { ...guide, app: { ...guide.app, url: `http://localhost:${port}` }, mail: { url: mails.url } }
  writeFileSync(join(cwd, 'svc.yaml'), stringify(config))
  const env = {
    DATABASE_URL: database.url,
    SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long',
    SVC_CONFIG: 'svc.yaml',
    PORT: String(port),
  }
  return { mails, ...(await startMain(t, { cwd, env })) }
}

/** The axios of that SPA in a browser: standard cookies, the origin, and the XSRF value that the page reads. */
function spaClient(baseURL: string): AxiosInstance {
  const jar = new CookieJar()
  const client = axios.create({
    baseURL,
    headers: { 'X-Requested-With': 'XMLHttpRequest', Origin: frontEnd, Referer: `${frontEnd}/` },
    withCredentials: true,
    maxRedirects: 0,
    validateStatus: () => true,
  })
  client.interceptors.request.use(async (request) => {
    request.headers.set('Cookie', await jar.getCookieString(baseURL))
    // The page reads document.cookie under its own address.
    const visible = (await jar.getCookies(frontEnd)).filter(({ httpOnly }) => !httpOnly)
    const xsrf = visible.find(({ key }) => key === 'XSRF-TOKEN')?.value
    if (xsrf) request.headers.set('X-XSRF-TOKEN', decodeURIComponent(xsrf))
    return request
  })
  client.interceptors.response.use(async (response) => {
    for (const line of response.headers['set-cookie'] ?? []) await jar.setCookie(line, baseURL)
    return response
  })
  return client
}

/** The link in the next unread mail with this subject. */
async function linkIn(mails: SmtpReceiver, subject: string): Promise<string> {
  const indexOf = () => mails.mails.findIndex((mail) => mail.subject === subject)
  await until(() => indexOf() >= 0)
  return /https?:\/\/\S+/.exec(mails.mails.splice(indexOf(), 1)[0]?.text ?? '')?.[0] ?? ''
}

t.test('breeze-next: registers, verifies, resets a forgotten password, signs in and out', async (t) => {
  const { url, mails } = await startBackend(t)
  const http = spaClient(url)
  const csrf = () => http.get('/sanctum/csrf-cookie')
  const user = () => http.get('/api/user')
  const isOk = ({ status, data }: AxiosResponse, name: string) =>
    t.ok([200, 201, 204].includes(status), `${name}: ${status} ${JSON.stringify(data)}`)
  const [email, first, second] = ['grace@example.com', 'violet engine on the hill', 'amber engine in the dale']

  t.equal((await user()).status, 401)
  isOk(await csrf(), 'csrf')
  const bad = await http.post('/register', { name: '', email, password: first, password_confirmation: 'x' })
  t.equal(bad.status, 422)
  t.strictSame(bad.data.errors, {
    name: ['The name field is required.'],
    password: ['The password field confirmation does not match.'],
  })
  const form = { name: 'Grace', email, password: first, password_confirmation: first }
  await csrf()
  isOk(await http.post('/register', form), 'register')
  t.match((await user()).data, { name: 'Grace', email, email_verified_at: null }, 'the page asks for verification')

  await linkIn(mails, 'Verify your email address')
  const resent = await http.post('/email/verification-notification')
  t.equal(resent.data.status, 'verification-link-sent')
  const link = await linkIn(mails, 'Verify your email address')
  t.ok(link.startsWith(`${url}/email/verify/`))
  const verified = await http.get(link, { headers: { Accept: 'text/html', 'X-Requested-With': null } })
  t.equal(verified.status, 302)
  t.equal(verified.headers.location, `${frontEnd}/dashboard?verified=1`)
  t.ok((await user()).data.email_verified_at)

  isOk(await http.post('/logout'), 'logout')
  t.equal((await user()).status, 401)
  await csrf()
  const forgot = await http.post('/forgot-password', { email })
  isOk(forgot, 'forgot')
  t.equal(forgot.data.status, 'We have emailed your password reset link.')
  const reset = new URL(await linkIn(mails, 'Reset your password'))
  t.equal(reset.origin, frontEnd)
  const [, token] = /^\/password-reset\/([^/]+)$/.exec(reset.pathname) ?? []
  t.equal(reset.searchParams.get('email'), email)
  await csrf()
  const chosen = { token, email, password: second, password_confirmation: second }
  const done = await http.post('/reset-password', chosen)
  isOk(done, 'reset')
  t.equal(done.data.status, 'Your password has been reset.')
  const again = await http.post('/reset-password', chosen)
  t.strictSame([again.status, again.data.errors], [422, { email: ['This password reset token is invalid.'] }])
  t.equal((await user()).status, 401, 'a reset does not sign in')

  await csrf()
  const old = await http.post('/login', { email, password: first, remember: true })
  t.equal(old.status, 422)
  t.strictSame(old.data.errors, { email: ['These credentials do not match our records.'] })
  await csrf()
  isOk(await http.post('/login', { email, password: second, remember: true }), 'login')
  t.ok((await user()).data.email_verified_at)
  isOk(await http.post('/logout'), 'logout')
  t.equal((await user()).status, 401)
})
