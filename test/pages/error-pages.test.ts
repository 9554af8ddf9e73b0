// engine: none
import t from 'tap'
import { buildTestApp } from '../support/app.ts'

// Browsers send more, and some tools only this.
const plainHtml = { accept: 'text/html' }
const page = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

t.test('answers errors as pages to browsers that open an address, and as JSON to programs', async (t) => {
  const svc = await buildTestApp(t, { settings: { app: { url: 'https://auth.example.com' } } })
  for (const [url, status, heading, code] of [
    ['/nowhere', 404, 'Page not found', 'not_found'],
    ['/api/nowhere?<script>', 404, 'Page not found', 'not_found'],
    ['/api/user', 401, 'You are not signed in', 'unauthenticated'],
    ['/user/profile', 404, 'Page not found', 'not_found'],
    ['/svc/token', 405, 'The request failed', 'method_not_allowed'],
    ['/auth/unknown/redirect', 404, 'Page not found', 'not_found'],
  ] as const) {
    const shown = await svc.app.inject({ url, headers: page })
    t.equal(shown.statusCode, status, url)
    t.equal(shown.headers['content-type'], 'text/html; charset=utf-8')
    t.match(shown.body, heading)
    t.notMatch(shown.body, '<script>')
    t.match(shown.headers.vary, /Accept/)
    t.match(shown.headers['content-security-policy'], /^default-src 'none';.*frame-ancestors 'none'/)
    t.equal(shown.headers['x-frame-options'], 'DENY')
    t.match(shown.headers['strict-transport-security'], 'max-age=')
    const nonce = /<style nonce="(\w{32})"/.exec(shown.body)?.[1]
    t.match(shown.headers['content-security-policy'], `'nonce-${nonce}'`)
    for (const accept of [
      'application/json',
      '*/*',
      'application/json, text/html',
      'text/html, application/problem+json;q=0.5',
      undefined,
    ]) {
      const told = await svc.app.inject({ url, headers: accept === undefined ? {} : { accept } })
      t.equal(told.statusCode, status)
      t.equal(told.json().code, code, `${url} ${accept}`)
      t.notOk(told.headers['content-security-policy'])
    }
  }
})

t.test('keeps the headers of an error, and offers to sign in', async (t) => {
  const svc = await buildTestApp(t)
  const refused = await svc.app.inject({ url: '/svc/token', headers: page })
  t.equal(refused.headers.allow, 'POST')
  t.match((await svc.app.inject({ url: '/api/user', headers: plainHtml })).body, '/oauth/login?return_to=%2F')
  const head = await svc.app.inject({ method: 'HEAD', url: '/api/user', headers: page })
  t.equal(head.statusCode, 401)
  t.equal(head.body, '')
})

t.test('shows the id of the request that the log has', async (t) => {
  const svc = await buildTestApp(t)
  const { body } = await svc.app.inject({ url: '/nowhere', headers: page })
  const id = /<code>([^<]+)<\/code>/.exec(body)?.[1] ?? ''
  t.not(id, '')
  t.ok(svc.logs.some((line) => line.includes(id) && line.includes('/nowhere')))
})

t.test('answers API forms and the guard as JSON even to browsers', async (t) => {
  const svc = await buildTestApp(t)
  const form = { ...page, 'content-type': 'application/x-www-form-urlencoded' }
  const posted = await svc.app.inject({ method: 'POST', url: '/svc/token', headers: form, payload: 'email=x' })
  t.equal(posted.statusCode, 422)
  t.match(posted.headers['content-type'], 'application/json')
  const guarded = await svc.app.inject({ url: '/svc/guard', headers: page })
  t.equal(guarded.statusCode, 400)
  t.match(guarded.headers['content-type'], 'application/json')
})
