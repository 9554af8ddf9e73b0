// engine: none
// process: own
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { ada, startWithAda } from '../../../test/support/listening.ts'
import { freePort } from '../../../test/support/process.ts'
import { codeAt } from '../../../test/support/totp.ts'
import {
  createClient,
  createDpopKey,
  ForbiddenError,
  NetworkError,
  NotFoundError,
  SvcError,
  TwoFactorRequiredError,
  UnauthorizedError,
  UnavailableError,
  ValidationError,
} from '../src/client.ts'
import { fetchWithJar } from './cookie-jar.ts'

const { url } = await startWithAda(t)
const phone = { ...ada, device_name: 'Phone' }

/** A server that gives the same answer to every request. */
async function answering(t: Test, status: number, headers: Record<string, string>, body: string): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status, headers).end(body))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('signs a device in, manages tokens and revokes the token on logout', async (t) => {
  const svc = createClient({ baseUrl: url, token: null })
  await t.rejects(svc.user(), UnauthorizedError)
  await t.rejects(svc.login(ada), TypeError, 'cookies are for pages')
  const { token, user } = await svc.tokens.login(phone)
  t.match(token, /^\d+\|/)
  t.match(user, { email: ada.email })
  t.match(await svc.user(), { id: user.id })

  const plain = await svc.tokens.create({ token_name: 'CI', abilities: ['orders:read'] })
  t.match(await svc.tokens.list(), [{ name: 'Phone' }, { name: 'CI', abilities: ['orders:read'] }])
  const ci = createClient({ baseUrl: url, token: plain })
  await t.rejects(ci.tokens.create({ token_name: 'more', abilities: ['*'] }), ForbiddenError)
  const created = (await svc.tokens.list()).find(({ name }) => name === 'CI')
  await svc.tokens.revoke(created?.id ?? 0)
  await t.rejects(ci.user(), UnauthorizedError)

  await svc.logout()
  await t.rejects(createClient({ baseUrl: url, token }).user(), UnauthorizedError)
  await svc.tokens.login(phone)
  await svc.tokens.revokeAll()
  await t.rejects(svc.user(), UnauthorizedError)
})

t.test('binds the token of a device to its key, and proves to have it', async (t) => {
  const dpop = await createDpopKey()
  const svc = createClient({ baseUrl: `${url}/`, token: null, dpop })
  const { token, user } = await svc.tokens.login(phone)
  t.match(await svc.user(), { id: user.id })
  t.match(await svc.tokens.create({ token_name: 'CI' }), /^\d+\|/, 'with a body')
  await t.rejects(createClient({ baseUrl: url, token }).user(), UnauthorizedError, 'not as a bearer token')
  const thief = createClient({ baseUrl: url, token, dpop: await createDpopKey() })
  await t.rejects(thief.user(), UnauthorizedError, 'not with another key')
  await t.rejects(crypto.subtle.exportKey('jwk', dpop.privateKey as never), 'the private key stays on the device')
  await svc.logout()
  await t.rejects(svc.user(), UnauthorizedError)
})

t.test('reads the token for each request if it is a function', async (t) => {
  const storage: { token: string | null } = { token: null }
  const svc = createClient({ baseUrl: url, token: async () => storage.token })
  const { token } = await svc.tokens.login(phone)
  await t.rejects(svc.user(), UnauthorizedError, 'the storage decides')
  storage.token = token
  t.match(await svc.user(), { email: ada.email })
  const other = createClient({ baseUrl: url, token: null })
  other.setToken(token)
  t.match(await other.user(), { email: ada.email })
})

t.test('sends no cookies, and no token after logout', async (t) => {
  const requests: RequestInit[] = []
  const record: typeof fetch = (input, init = {}) => {
    requests.push(init)
    return fetch(input, init)
  }
  const svc = createClient({ baseUrl: url, token: null, fetch: record })
  await svc.tokens.login(phone)
  await svc.user()
  await svc.logout()
  await t.rejects(svc.user(), UnauthorizedError)
  t.same(
    requests.map(({ credentials }) => credentials),
    ['omit', 'omit', 'omit', 'omit'],
  )
  t.same(
    requests.map(({ headers }) => new Headers(headers).has('authorization')),
    [false, true, true, false],
  )
})

t.test('calls any operation of the description, with path and query', async (t) => {
  const svc = createClient({ baseUrl: url, token: null })
  t.same(await svc.request('GET', '/health/live'), { status: 'ok' })
  await svc.tokens.login(phone)
  const missing = svc.request('DELETE', '/api/tokens/{id}', { path: { id: 999 } })
  await t.rejects(missing, NotFoundError)
  const unknown = svc.request('GET', '/auth/{provider}/redirect', {
    path: { provider: 'a/b' },
    query: { return_to: '/' },
  })
  await t.rejects(unknown, NotFoundError, 'a slash in a parameter stays in its segment')
})

t.test('rejects path parameters that would lead to another route', async (t) => {
  const svc = createClient({ baseUrl: url, token: null })
  await svc.tokens.login(phone)
  // `DELETE /api/tokens/` and `DELETE /api/tokens/..` would reach routes that revoke more.
  for (const id of ['', '.', '..']) {
    await t.rejects(svc.request('DELETE', '/api/tokens/{id}', { path: { id } }), TypeError, JSON.stringify(id))
  }
  t.match(await svc.user(), { email: ada.email }, 'the token is still there')
})

t.test('passes aborts through, and reports an unreachable server', async (t) => {
  const svc = createClient({ baseUrl: url, token: null })
  const reason = new Error('the user left the page')
  await t.rejects(svc.user({ signal: AbortSignal.abort(reason) }), reason)
  await t.rejects(svc.user({ signal: AbortSignal.abort() }), { name: 'AbortError' })
  const nothing = createClient({ baseUrl: `http://127.0.0.1:${await freePort()}`, token: null })
  const error = await nothing.user().catch((error) => error)
  t.type(error, NetworkError)
  t.match(error, { status: 0, code: 'network_error', cause: TypeError })
})

t.test('keeps its error classes for answers of a proxy', async (t) => {
  const html = await answering(t, 503, { 'retry-after': '7', 'content-type': 'text/html' }, '<h1>Bad</h1>')
  const error = await createClient({ baseUrl: html, token: null })
    .user()
    .catch((error) => error)
  t.type(error, UnavailableError)
  t.match(error, { status: 503, code: 'unknown', retryAfter: 7, message: /503/ })
  const teapot = await answering(t, 418, {}, '')
  const other = await createClient({ baseUrl: teapot, token: null })
    .user()
    .catch((error) => error)
  t.match(other, { constructor: SvcError, status: 418 })
})

t.test('requires the second factor of a device', async (t) => {
  const { fetch, cookie } = fetchWithJar()
  const xsrfToken = async () => (await cookie(url, 'XSRF-TOKEN'))?.value
  const page = createClient({ baseUrl: url, fetch, xsrfToken, headers: { origin: 'http://localhost:5173' } })
  await page.login(ada)
  await page.password.confirm(ada.password)
  await page.twoFactor.enable()
  const secret = await page.twoFactor.secretKey()
  await page.twoFactor.confirm(codeAt(secret, Date.now()))

  const svc = createClient({ baseUrl: url, token: null })
  const error = await svc.tokens.login(phone).catch((error) => error)
  t.type(error, TwoFactorRequiredError)
  t.match(error, { status: 422, code: 'two_factor_required' })
  const wrong = await svc.tokens.login({ ...phone, code: '000000' }).catch((error) => error)
  t.type(wrong, ValidationError)
  t.notOk(wrong instanceof TwoFactorRequiredError, 'a wrong code is invalid input')
  const failed = await svc.tokens.login({ ...phone, password: 'wrong' }).catch((error) => error)
  t.match(failed, { constructor: ValidationError, errors: { email: [String] } })
  t.ok((await svc.tokens.login({ ...phone, code: codeAt(secret, Date.now(), 1) })).token)
})
