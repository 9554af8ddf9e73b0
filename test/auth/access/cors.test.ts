// engine: none
import t from 'tap'
import { isAllowedOrigin } from '../../../src/auth/access/cors.ts'
import { buildTestApp, testConfig } from '../../support/app.ts'

const spa = 'http://localhost:5173'

t.test('allows listed origins to read every answer, including errors', async (t) => {
  const svc = await buildTestApp(t)
  const headers = { origin: spa }
  for (const [method, url, status] of [
    ['GET', '/svc/csrf-cookie', 204],
    ['GET', '/api/user', 401],
    ['POST', '/login', 419],
    ['GET', '/no/such/path', 404],
    ['DELETE', '/login', 405],
    ['POST', '/svc/token', 422],
    ['GET', '/openapi.json', 200],
  ] as const) {
    const answer = await svc.app.inject({ method, url, headers, ...(method === 'POST' ? { payload: {} } : {}) })
    t.equal(answer.statusCode, status, url)
    t.equal(answer.headers['access-control-allow-origin'], spa, `${method} ${url} names the origin`)
    t.equal(answer.headers['access-control-allow-credentials'], 'true')
    t.match(answer.headers.vary, /origin/i)
  }
  const limited = await svc.app.inject({ method: 'GET', url: '/api/user', headers })
  t.match(limited.headers['access-control-expose-headers'], /Retry-After/)
})

t.test('sends no CORS headers to foreign origins', async (t) => {
  const svc = await buildTestApp(t)
  for (const origin of [
    'http://evil.example',
    'null',
    'http://localhost:5173.evil.example',
    'http://localhost:9999',
    'http://localhost:5173@evil.example',
    'chrome-extension://localhost',
  ]) {
    for (const method of ['GET', 'OPTIONS'] as const) {
      const headers = { origin, 'access-control-request-method': 'POST' }
      const answer = await svc.app.inject({ method, url: '/api/user', headers })
      t.equal(answer.headers['access-control-allow-origin'], undefined, `${method} from ${origin}`)
      t.equal(answer.headers['access-control-allow-credentials'], undefined)
      t.match(answer.headers.vary, /origin/i, 'caches keep the answers for different origins apart')
    }
  }
  const plain = await svc.app.inject('/api/user')
  t.equal(plain.headers['access-control-allow-origin'], undefined)
  t.match(plain.headers.vary, /origin/i)
})

t.test('answers a preflight without a caller, and allows credentials', async (t) => {
  const svc = await buildTestApp(t)
  const asked = 'content-type,x-requested-with,x-xsrf-token,authorization,accept'
  for (const url of ['/login', '/api/user', '/api/tokens/1']) {
    const answer = await svc.app.inject({
      method: 'OPTIONS',
      url,
      headers: { origin: spa, 'access-control-request-method': 'DELETE', 'access-control-request-headers': asked },
    })
    t.equal(answer.statusCode, 204, url)
    t.equal(answer.headers['access-control-allow-origin'], spa)
    t.equal(answer.headers['access-control-allow-credentials'], 'true')
    t.match(answer.headers['access-control-allow-methods'], /DELETE/)
    const allowed = String(answer.headers['access-control-allow-headers']).toLowerCase()
    for (const name of asked.split(',')) t.ok(allowed.includes(name), name)
    t.equal(answer.headers['set-cookie'], undefined)
  }
})

t.test('replaces the origins of the stateful list by cors.origins', async (t) => {
  const svc = await buildTestApp(t, {
    settings: { cors: { origins: ['https://app.example'], supports_credentials: false } },
  })
  const from = async (origin: string) => (await svc.app.inject({ url: '/api/user', headers: { origin } })).headers
  t.equal((await from('https://app.example'))['access-control-allow-origin'], 'https://app.example')
  t.equal((await from('https://app.example'))['access-control-allow-credentials'], undefined)
  for (const origin of [spa, 'http://app.example', 'https://app.example:8443', 'https://app.example.evil', '*']) {
    t.equal((await from(origin))['access-control-allow-origin'], undefined, origin)
  }
})

t.test('allows only https in production, and loopback only if it is listed', async (t) => {
  const production = (more: object) =>
    testConfig({
      app: { url: 'https://auth.example.com', environment: 'production' },
      mail: { url: 'smtps://mail.example.com' },
      stateful: ['app.example.com', '*.apps.example.com', 'localhost:5173', '127.0.0.1', '::1', 'dev.localhost'],
      ...more,
    }).current()
  const config = production({})
  t.equal(isAllowedOrigin('https://app.example.com', config), true)
  t.equal(isAllowedOrigin('https://auth.example.com', config), true)
  t.equal(isAllowedOrigin('https://a.apps.example.com', config), true)
  for (const origin of [
    'http://app.example.com',
    'app.example.com',
    'http://localhost:5173',
    'https://localhost:5173',
    'https://127.0.0.1',
    'https://[::1]',
    'https://dev.localhost',
    'https://evil.example/.apps.example.com',
    'null',
    '*',
  ]) {
    t.equal(isAllowedOrigin(origin, config), false, origin)
  }
  const listed = production({ cors: { origins: ['http://localhost:5173', 'https://App.example.com:443/'] } })
  t.equal(isAllowedOrigin('http://localhost:5173', listed), true)
  t.equal(isAllowedOrigin('https://app.example.com', listed), true, 'origins are compared as browsers serialize them')
  t.equal(isAllowedOrigin('https://a.apps.example.com', listed), false)
})
