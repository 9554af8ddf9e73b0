import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { protocolPaths } from '../../../src/features/oauth/protocol/paths.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { oddRequest, seed } from './odd-requests.ts'

const REQUESTS = 2_400

/** The problem with an answer, or null. */
function flaw(answer: LightMyRequestResponse, { method, url, headers }: InjectOptions): string | null {
  if (answer.statusCode >= 500) return 'an internal error'
  if (answer.statusCode < 400 || method === 'HEAD') return null
  const type = String(answer.headers['content-type'])
  // A browser that opens an address.
  const isOpened = method === 'GET' && String(headers?.accept).startsWith('text/html')
  const policy = String(answer.headers['content-security-policy'])
  if (isOpened && type === 'text/html; charset=utf-8' && policy.startsWith("default-src 'none'")) return null
  // A form is shown again as a page with its errors.
  if (
    /\/(test-login|oauth\/(login|forgot-password|sign-out|interaction|unlock|register|verify-email|email-code|invitation|language)|account|email\/(undo|verification-notification)|reset-password\/.)/.test(
      String(url),
    ) &&
    type.startsWith('text/html')
  ) {
    return null
  }
  if (!type.startsWith('application/json')) return `content type ${type}`
  const { message, code } = answer.json()
  return typeof message === 'string' && message !== '' && typeof code === 'string' && code !== '' ? null : answer.body
}

/** Fresh credentials of each kind: earlier requests may have revoked them. */
async function credentials(svc: TestApp): Promise<Record<string, string>[]> {
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const session = {
    cookie: await spa.jar.getCookieString('http://localhost:8000/'),
    origin: 'http://localhost:5173',
    'x-xsrf-token': (await spa.cookie('XSRF-TOKEN')) ?? '',
  }
  const narrow = await svc.createToken(user, { abilities: [] })
  return [
    {},
    session,
    { authorization: `Bearer ${await svc.createToken(user)}` },
    { authorization: `Bearer ${narrow}` },
  ]
}

t.test(`never answers a malformed request with an internal error (seed ${seed})`, async (t) => {
  const svc = await buildTestApp(t)
  const described: string[] = Object.keys((await svc.app.inject('/openapi.json')).json().paths)
  // OAuth has a separate test, and its own error format.
  const paths = described.filter((path) => !(path.replace(/\{(\w+)\}/g, ':$1') in protocolPaths))
  t.ok(paths.length > 10)
  const statuses = new Map<number, number>()
  const flaws: string[] = []
  for (let i = 0; i < REQUESTS; i += 40) {
    const known = await credentials(svc)
    const requests = Array.from({ length: 40 }, () => oddRequest(paths, known))
    const answers = await Promise.all(requests.map((request) => svc.app.inject(request)))
    for (const [j, answer] of answers.entries()) {
      statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1)
      const found = flaw(answer, requests[j] ?? {})
      if (found) flaws.push(`${answer.statusCode} ${found}: ${JSON.stringify(requests[j]).slice(0, 600)}`)
    }
  }
  t.same(flaws.slice(0, 5), [])
  t.equal(flaws.length, 0)
  for (const status of [200, 204, 400, 401, 403, 404, 405, 413, 415, 419, 422]) {
    t.ok(statuses.has(status), `${status} was among the answers: ${JSON.stringify([...statuses])}`)
  }
  const errors = svc.logs.filter((line) => /"level":"(error|fatal)"/.test(line))
  t.same(errors.slice(0, 3), [], 'no unexpected error was logged')
})
