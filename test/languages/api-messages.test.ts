// engine: none
import t from 'tap'
import { buildTestApp } from '../support/app.ts'

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
