// engine: none
import type { InjectOptions } from 'fastify'
import t from 'tap'
import { buildTestApp } from '../support/app.ts'
import { exampleUrl, openApiPath, openOperations, routedPaths } from '../support/routes.ts'

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const methods: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Whether the route is open to callers without credentials. */
const isOpen = (method: Method, path: string): boolean =>
  openOperations.has(`${method === 'HEAD' ? 'GET' : method} ${openApiPath(path)}`)

const json = { 'content-type': 'application/json' }
const stateful = { origin: 'http://localhost:5173', referer: 'http://localhost:5173/' }

/** Ways to send a request without valid credentials. */
const ways: readonly [string, Pick<InjectOptions, 'headers' | 'payload'>][] = [
  ['plainly', {}],
  ['from the own origin', { headers: stateful }],
  ['with same-origin fetch metadata', { headers: { ...stateful, 'sec-fetch-site': 'same-origin' } }],
  ['from a foreign origin', { headers: { origin: 'https://evil.example' } }],
  ['with a body', { headers: json, payload: '{"name":"x","title":"x","token_name":"x"}' }],
  ['with an unparsable body', { headers: { ...json, ...stateful }, payload: '{"broken' }],
  ['with a body of another type', { headers: { 'content-type': 'text/plain' }, payload: 'x' }],
  ['with a body that is too large', { headers: json, payload: `{"x":"${'x'.repeat(200_000)}"}` }],
  ['with unknown cookies', { headers: { ...stateful, cookie: 'svc_session=x.y; svc_remember=1.x' } }],
  ['with an empty bearer', { headers: { authorization: 'Bearer ' } }],
  ['with a password', { headers: { authorization: 'Basic dTpw' } }],
]

const bearers = ['1|nonsense', 'nonsense', 'a.b.c', '99999999999999999999|x', '-1|x', 'null', '1|\u00e9']

t.test('answers 401 on every protected route without credentials, whatever else is wrong', async (t) => {
  const svc = await buildTestApp(t)
  const spec = (await svc.app.inject('/openapi.json')).json()
  let asked = 0
  for (const { path } of routedPaths(svc.app).filter((route) => route.path !== '*')) {
    const described = Object.keys(spec.paths[openApiPath(path)]).map((method) => method.toUpperCase())
    const own = methods.filter((method) => described.includes(method === 'HEAD' ? 'GET' : method))
    for (const method of own.filter((candidate) => !isOpen(candidate, path))) {
      for (const [how, request] of ways) {
        if (request.payload && ['GET', 'HEAD'].includes(method)) continue
        const answer = await svc.app.inject({ method, url: exampleUrl(path), ...request })
        t.equal(answer.statusCode, 401, `${method} ${path} ${how}`)
        t.equal(answer.headers['www-authenticate'], 'Bearer')
        if (method !== 'HEAD') t.same(answer.json(), { message: 'Unauthenticated.', code: 'unauthenticated' })
        asked++
      }
      for (const bearer of bearers) {
        const headers = { authorization: `Bearer ${bearer}` }
        const answer = await svc.app.inject({ method, url: exampleUrl(path), headers })
        t.equal(answer.statusCode, 401, `${method} ${path} with the bearer ${bearer}`)
        const { security } = spec.paths[openApiPath(path)][method === 'HEAD' ? 'get' : method.toLowerCase()]
        const takesBearers = JSON.stringify(security).includes('bearer')
        t.equal(answer.headers['www-authenticate'], takesBearers ? 'Bearer error="invalid_token"' : 'Bearer')
      }
    }
  }
  t.ok(asked > 100, 'the routes are found')
})

/** What an open route may answer to an empty request. */
function answersOf(path: string): number[] {
  // No proxy is trusted.
  if (path === '/svc/guard') return [400]
  if (path.includes('verify/') || path.startsWith('/verify')) return [401]
  // The link has no signature.
  if (path.startsWith('/email/undo')) return [403]
  if (/^\/oauth\/(unlock|invitation)/.test(path)) return [403, 419]
  // No file has the name `1`.
  if (path === '/docs/{file}' || path === '/assets/{name}') return [404]
  // No sign-in is waiting for a second factor.
  if (path.startsWith('/passkeys/challenge')) return [409, 419]
  // No app is configured.
  if (/apple-app-site-association|assetlinks|security\.txt/.test(path)) return [404]
  // No API is configured.
  if (path.startsWith('/.well-known/oauth-protected-resource')) return [404]
  // Off by default.
  if (path.includes('/email-code') || path === '/terms') return [404]
  // No provider is configured.
  if (path.startsWith('/auth/{provider}')) return [404]
  // OAuth routes ask for a client first, and some of them require https.
  const isProtocol = /^\/oauth\/(?!login|language|sign-out|forgot|register|verify)/.test(path)
  return isProtocol ? [200, 303, 400, 401, 404, 405, 419] : [200, 204, 302, 303, 419, 422]
}

t.test('answers without credentials on open routes', async (t) => {
  const svc = await buildTestApp(t)
  for (const operation of openOperations) {
    const [method, path = ''] = operation.split(' ')
    const answer = await svc.app.inject({ method: method as Method, url: path.replace(/\{\w+\}/g, '1') })
    t.ok(answersOf(path).includes(answer.statusCode), `${operation}: ${answer.statusCode}`)
  }
})

t.test('answers 405 with the supported methods, signed in or not', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const authorization = `Bearer ${await svc.createToken(user)}`
  const spec = (await svc.app.inject('/openapi.json')).json()
  for (const { path } of routedPaths(svc.app).filter((route) => route.path !== '*')) {
    // It serves every method.
    if (path === '/svc/guard') continue
    const described = Object.keys(spec.paths[openApiPath(path)]).map((method) => method.toUpperCase())
    const allowed = methods.filter((method) => described.includes(method === 'HEAD' ? 'GET' : method)).sort()
    for (const method of methods.filter((candidate) => candidate !== 'HEAD' && !allowed.includes(candidate))) {
      for (const headers of [{}, { authorization }, stateful]) {
        const answer = await svc.app.inject({ method, url: exampleUrl(path), headers })
        t.equal(answer.statusCode, 405, `${method} ${path}`)
        const told = String(answer.headers.allow).split(', ')
        t.same(told.filter((name) => name !== 'OPTIONS').sort(), allowed)
        t.same(answer.json(), { message: 'Method not allowed.', code: 'method_not_allowed' })
      }
    }
  }
})

t.test('answers 404 to every method on an unknown path', async (t) => {
  const svc = await buildTestApp(t)
  for (const url of ['/api', '/api/user/', '/api/tokens/1/2', '/API/USER', '/%00', '/%', '/svc/csrf-cookie/x']) {
    for (const method of methods) {
      const answer = await svc.app.inject({ method, url })
      t.equal(answer.statusCode, 404, `${method} ${url}`)
      if (method !== 'HEAD') t.same(answer.json(), { message: 'Not found.', code: 'not_found' })
    }
  }
  for (const url of ['/api/tokens/x', '/api/tokens/-1', `/api/tokens/${'9'.repeat(30)}`, '/test-tokens/1.5']) {
    const answer = await svc.app.inject({ method: 'DELETE', url })
    t.ok([401, 404].includes(answer.statusCode), `DELETE ${url}`)
  }
})
