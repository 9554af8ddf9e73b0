// engine: none
import t from 'tap'
import { errorTitle } from '../../../src/platform/http/problem-details.ts'
import { buildTestApp } from '../../support/app.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const problem = 'application/problem+json'

t.test('answers with problem details if the client prefers them to JSON', async (t) => {
  const { app } = await buildTestApp(t, { settings: { app: { url: 'https://id.example' } } })
  const typeFor = async (accept?: string) => {
    const answer = await app.inject({ url: '/api/user', headers: accept === undefined ? {} : { accept } })
    t.equal(answer.statusCode, 401)
    t.equal(answer.headers.vary, 'Origin, Accept')
    return String(answer.headers['content-type']).split(';')[0]
  }
  for (const accept of [
    problem,
    problem.toUpperCase(),
    `${problem}, application/json`,
    `application/json;q=0.8, ${problem}`,
    `application/json;q=0.8, ${problem};q=0.9`,
    `${problem}, */*`,
    `${problem};q=0.1`,
    `text/html, ${problem};q=0.5`,
  ])
    t.equal(await typeFor(accept), problem, accept)
  for (const accept of [
    undefined,
    '',
    '*/*',
    'application/*',
    'application/json',
    `application/json, ${problem}`,
    `application/json, ${problem};q=0.9`,
    `${problem};q=0.4, application/*;q=0.5`,
    `${problem};q=0`,
    `${problem};q=much`,
    `;,,;q=1,${problem}x`,
    '/',
    'x'.repeat(8_000),
    `${problem},`.repeat(300).replaceAll(problem, 'application/json'),
  ])
    t.equal(await typeFor(accept), 'application/json', accept ?? 'no header')
})

t.test('describes an error by RFC 9457, with the code and the messages of the default format', async (t) => {
  const { app } = await buildTestApp(t, { settings: { app: { url: 'https://id.example' } } })
  const payload = { email: 'x', password: 'secret-of-the-test', device_name: 'phone' }
  const plain = (await app.inject({ method: 'POST', url: '/svc/token', payload })).json()
  const answer = await app.inject({ method: 'POST', url: '/svc/token', payload, headers: { accept: problem } })
  t.equal(answer.statusCode, 422)
  t.match(answer.headers, { 'content-type': problem, 'cache-control': 'no-store' })
  const { instance, ...details } = answer.json()
  t.match(instance, /^https:\/\/id\.example\/errors\?request=[a-z0-9]+-[a-z0-9]+$/)
  t.same(details, {
    type: 'https://id.example/errors#validation_failed',
    title: 'Validation failed',
    status: 422,
    detail: plain.message,
    code: 'validation_failed',
    errors: plain.errors,
  })
  t.notMatch(answer.body, /secret-of-the-test/)
})

t.test('uses problem details for unknown routes, methods, malformed bodies and unexpected errors', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const accept = { accept: problem }
  const json = { ...accept, 'content-type': 'application/json' }
  const payload = { email, password: 'correct horse', device_name: 'phone' }
  for (const [status, code, request] of [
    [404, 'not_found', { url: '/nowhere', headers: accept }],
    [404, 'not_found', { url: '/%', headers: accept }],
    [404, 'not_found', { url: '/oauth/authorize/', headers: accept }],
    [401, 'unauthenticated', { url: '/email/verify/1/x', headers: accept }],
    [405, 'method_not_allowed', { method: 'PATCH', url: '/login', headers: accept }],
    [
      405,
      'method_not_allowed',
      { method: 'POST', url: '/oauth/authorize', headers: { ...accept, ...form }, payload: 'x' },
    ],
    [400, 'malformed_body', { method: 'POST', url: '/svc/token', headers: json, payload: '{' }],
    [
      415,
      'unsupported_media_type',
      { method: 'POST', url: '/svc/token', headers: { ...accept, 'content-type': 'a/b' }, payload: 'x' },
    ],
    [419, 'csrf_mismatch', { method: 'POST', url: '/login', headers: json, payload }],
  ] as const) {
    const answer = await svc.app.inject(request)
    t.equal(answer.statusCode, status, `${status} ${code}`)
    t.equal(answer.headers['content-type'], problem)
    t.match(answer.json(), { status, code, title: errorTitle(code), type: `http://localhost:8000/errors#${code}` })
  }
  svc.database.transaction = () => Promise.reject(new Error('an inner secret'))
  const failed = await svc.app.inject({ method: 'POST', url: '/svc/token', headers: json, payload })
  t.match(failed.json(), { status: 500, code: 'server_error', detail: 'Server Error' })
  t.notMatch(failed.body, /inner secret/)
})

t.test('keeps the errors of the OAuth protocol', async (t) => {
  const { app } = await buildTestApp(t)
  const answer = await app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: { accept: problem, 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'grant_type=authorization_code',
  })
  t.equal(answer.statusCode, 400)
  t.match(answer.headers['content-type'], /^application\/json/)
  t.match(answer.json(), { error: 'invalid_request' })
})

t.test('shows pages to browsers, whatever the header says about problem details', async (t) => {
  const { app } = await buildTestApp(t, { settings: { app: { frontend_url: 'https://app.example' } } })
  const page = await app.inject({ url: '/', headers: { accept: `text/html, ${problem};q=0.9` } })
  t.equal(page.statusCode, 404)
  t.match(page.headers, { 'content-type': /^text\/html/, vary: /\bAccept, Accept-Language$/ })
  const details = await app.inject({ url: '/', headers: { accept: `${problem}, text/html;q=0.5` } })
  t.equal(details.headers['content-type'], problem)
})

t.test('derives the title of an error from its code', async (t) => {
  t.equal(errorTitle('csrf_mismatch'), 'CSRF mismatch')
  t.equal(errorTitle('password_confirmation_required'), 'Password confirmation required')
})
