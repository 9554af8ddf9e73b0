// engine: none
import t from 'tap'
import { catalogueOf } from '../../../src/platform/languages/messages.ts'
import { buildTestApp } from '../../support/app.ts'
import { sources } from '../../support/sources.ts'

const german = { 'accept-language': 'de', accept: 'application/json' }
const body = { email: 'ada', device_name: 'x'.repeat(300) }

t.test('keeps messages in JSON in English by default', async (t) => {
  const svc = await buildTestApp(t)
  const answer = await svc.app.inject({ method: 'POST', url: '/svc/token', headers: german, payload: body })
  t.equal(answer.statusCode, 422)
  t.match(answer.json().errors, { email: ['The email field must be a valid email address.'] })
  t.equal(answer.headers['content-language'], undefined)
})

t.test('translates messages in JSON with i18n.api, and keeps their codes', async (t) => {
  const svc = await buildTestApp(t, { settings: { i18n: { api: true } } })
  const answer = await svc.app.inject({ method: 'POST', url: '/svc/token', headers: german, payload: body })
  t.equal(answer.statusCode, 422)
  t.match(answer.json(), {
    code: 'validation_failed',
    message: 'Das Feld „E-Mail-Adresse“ muss eine gültige E-Mail-Adresse enthalten. (und 2 weitere Fehler)',
    errors: {
      email: ['Das Feld „E-Mail-Adresse“ muss eine gültige E-Mail-Adresse enthalten.'],
      device_name: ['Das Feld „Gerätename“ darf höchstens 255 Zeichen enthalten.'],
    },
  })
  t.equal(answer.headers['content-language'], 'de')
  t.match(answer.headers.vary, 'Accept-Language')
  const unauthenticated = await svc.app.inject({ url: '/api/user', headers: german })
  t.same(unauthenticated.json(), { message: 'Nicht angemeldet.', code: 'unauthenticated' })
  const unknown = await svc.app.inject({ url: '/api/user', headers: { ...german, 'accept-language': 'xx' } })
  t.equal(unknown.json().message, 'Unauthenticated.')
})

t.test('translates the messages of successful requests, and keeps their status', async (t) => {
  const svc = await buildTestApp(t, { settings: { i18n: { api: true } } })
  const { email } = await svc.createUser()
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  const login = await browser.post('/login', { email, password: 'correct horse' }, german)
  t.match(login.json(), { two_factor: false, message: 'Angemeldet.' })
  t.equal(login.headers['content-language'], 'de')
  t.match(login.headers.vary, 'Accept-Language')
  const forgot = await browser.post('/forgot-password', { email }, german)
  t.same(forgot.json(), {
    message: 'Wir haben Ihnen einen Link zum Zurücksetzen des Passworts gesendet.',
    status: 'We have emailed your password reset link.',
  })
  const plain = await svc.app.inject({ url: '/health/live', headers: german })
  t.equal(plain.headers['content-language'], undefined, 'nothing to translate')
  const english = await buildTestApp(t)
  const other = english.browser()
  await other.get('/svc/csrf-cookie')
  const { email: address } = await english.createUser()
  t.match((await other.post('/login', { email: address, password: 'correct horse' }, german)).json(), {
    message: 'Logged in.',
  })
})

t.test('has a text for every message of a successful request', async (t) => {
  const known = new Set(Object.values(catalogueOf('en')))
  const messages = sources.flatMap(({ file, text }) =>
    file.startsWith('features/') && !/features\/(test-page|samples|diagnose|social\/failure|oauth)/.test(file)
      ? [...text.matchAll(/(?:return|send\()[^\n]*message: '([^']+)'/g)].map(([, message = '']) => message)
      : [],
  )
  t.ok(messages.length > 8)
  for (const message of messages) t.ok(known.has(message), message)
})
