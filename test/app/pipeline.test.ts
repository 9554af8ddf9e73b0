// engine: none

import t from 'tap'
import { pipeline } from '../../src/app/pipeline.ts'
import { buildTestApp, confirming } from '../support/app.ts'

const step = (name: string) => ({ name, phase: 'onRequest' as const, answers: [], hooksFor: () => null })

t.test('lists the steps in the order in which they run', async (t) => {
  const steps = pipeline({
    callers: {
      readSession: step('read session'),
      findCaller: step('find caller'),
      resumeRemembered: step('resume remembered'),
    },
    globalLimit: step('global limit'),
    routeLimit: step('route limit'),
    bodyLimit: step('unfinished bodies'),
    methods: { replayBody: step('replay body'), methodOverride: step('method override') },
  })
  t.same(
    steps.map(({ name }) => name),
    [
      'deprecation',
      'read session',
      'find caller',
      'own onRequest',
      'global limit',
      'abilities',
      'administrators',
      'replay body',
      'own preParsing',
      'unfinished bodies',
      'parse body',
      'method override',
      'CSRF',
      'resume remembered',
      'route limit',
      'verified address',
      'accepted terms',
      'impersonation',
      'own preValidation',
      'recent password',
      'recent administrator',
      'body rules',
      'validate parameters',
      'validate query',
      'validate body',
    ],
  )
})

t.test('answers with the first step that fails', async (t) => {
  const settings = { ...confirming, registration: { require_verified_email: true }, tokens: { confirm_password: true } }
  const svc = await buildTestApp(t, { settings })
  const { id, email } = await svc.createUser({ verified: false })
  const broken = { payload: '{"broken', headers: { 'content-type': 'application/json' } }
  const anonymous = await svc.app.inject({ method: 'POST', url: '/tokens/create', ...broken })
  t.equal(anonymous.statusCode, 401, 'without a caller, before the body is read')

  const spa = svc.browser({ xsrf: false })
  const token = { 'x-xsrf-token': '' }
  await spa.get('/svc/csrf-cookie')
  const renew = async () => {
    token['x-xsrf-token'] = (await spa.cookie('XSRF-TOKEN')) ?? ''
  }
  await renew()
  await spa.post('/login', { email, password: 'correct horse' }, token)
  const cookie = await spa.jar.getCookieString('http://localhost:8000/')
  const headers = { ...broken.headers, origin: 'http://localhost:5173', cookie }
  const refused = await svc.app.inject({ method: 'POST', url: '/admin/v1/users/import', payload: '{"broken', headers })
  t.equal(refused.statusCode, 403, 'without the right, before the body is read')
  const unreadable = await svc.app.inject({ method: 'POST', url: '/tokens/create', payload: '{"broken', headers })
  t.equal(unreadable.statusCode, 400, 'with a body that is not JSON, before the CSRF check')
  t.equal((await spa.post('/tokens/create', {})).statusCode, 419, 'without a CSRF token')
  await renew()
  t.match((await spa.post('/tokens/create', {}, token)).json(), { code: 'email_unverified' })
  await svc.database.prisma.user.update({ where: { id: BigInt(id) }, data: { emailVerifiedAt: new Date() } })
  t.equal((await spa.post('/tokens/create', {}, token)).statusCode, 423, 'without a recent password')
  await spa.post('/user/confirm-password', { password: 'correct horse' }, token)
  await renew()
  t.equal((await spa.post('/tokens/create', {}, token)).statusCode, 422, 'with an invalid body')
  t.equal((await spa.post('/tokens/create', { token_name: 'x' }, token)).statusCode, 200)
})

t.test('describes the errors of the steps that a route passes', async (t) => {
  const svc = await buildTestApp(t)
  const { paths } = (await svc.app.inject('/openapi.json')).json()
  const statuses = (method: string, path: string) =>
    Object.keys(paths[path][method].responses).filter((status) => Number(status) >= 400)
  t.same(statuses('post', '/tokens/create'), ['400', '401', '403', '413', '415', '419', '422', '423', '429', '503'])
  t.same(statuses('get', '/api/tokens'), ['401', '403', '429', '503'])
  t.same(statuses('get', '/svc/csrf-cookie'), ['429', '503'])
  t.same(statuses('get', '/auth/providers'), ['429'])
})
