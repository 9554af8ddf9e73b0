// engine: none
import t from 'tap'
import { buildTestApp, testConfig } from '../../support/app.ts'
import { day } from '../../support/clock.ts'
import { stopTime, travel } from '../../support/time.ts'

const url = '/.well-known/security.txt'

t.test('answers 404 without a contact', async (t) => {
  const svc = await buildTestApp(t)
  const answer = await svc.app.inject(url)
  t.equal(answer.statusCode, 404)
  t.equal(answer.json().code, 'not_found')
})

t.test('serves the contact in a file that never expires while svc runs', async (t) => {
  const settings = { app: { security_contact: 'https://example.com/report?a=b#form' } }
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const read = async () => {
    const { statusCode, headers, body } = await svc.app.inject(url)
    t.match([statusCode, headers['content-type'], headers['set-cookie']], [200, 'text/plain; charset=utf-8', undefined])
    const [contact, expires = '', canonical, end] = body.split('\n')
    t.same(
      [contact, canonical, end],
      ['Contact: https://example.com/report?a=b#form', `Canonical: http://localhost:8000${url}`, ''],
    )
    t.match(expires, /^Expires: \d{4}-\d\d-\d\dT00:00:00Z$/)
    return Date.parse(expires.slice('Expires: '.length)) - svc.app.clock.now()
  }
  for (let days = 0; days < 400; days += 40) {
    const left = await read()
    t.ok(left > 28 * day && left <= 30 * day)
    travel(svc, 40 * day)
  }
})

t.test('refuses a contact that is no single URI', async (t) => {
  for (const security_contact of [
    'security@example.com',
    'http://example.com',
    'mailto:a@example.com\nExpires: never',
    'mailto:',
  ])
    t.throws(() => testConfig({ app: { security_contact } }), /security_contact: must be an https, mailto or tel URI/)
})
