// engine: none
import t from 'tap'
import { CurrentConfig } from '../../../src/platform/config/current.ts'
import { configOf } from './problems.ts'

t.test('freezes a snapshot deeply, and replaces it as a whole', (t) => {
  const first = configOf('scopes: { a: b }')
  for (const part of [first, first.app, first.app.secret, first.stateful, first.scopes, first.rate_limits.login]) {
    t.ok(Object.isFrozen(part))
  }
  t.throws(() => Object.assign(first.session, { lifetime: 1 }), TypeError)
  const current = new CurrentConfig(first)
  t.equal(current.current(), first)
  const second = structuredClone(configOf('app: { name: Two }'))
  current.swap(second)
  t.equal(current.current().app.name, 'Two')
  t.ok(Object.isFrozen(current.current().app))
  t.equal(first.app.name, 'svc')
  t.end()
})

t.test('keeps unchanged parts on a swap, and the whole snapshot if nothing changed', (t) => {
  const text = (name: string) =>
    `app: { name: ${name} }\nsocial: { google: { client_id: a, client_secret: b }, github: { client_id: ${name}, client_secret: b } }`
  const current = new CurrentConfig(configOf(text('One')))
  const first = current.current()
  current.swap(configOf(text('One')))
  t.equal(current.current(), first)
  current.swap(configOf(text('Two')))
  const second = current.current()
  t.match([second.app.name, second.social.github?.client_id], ['Two', 'Two'])
  t.equal(second.social.google, first.social.google)
  t.equal(second.session, first.session)
  t.not(second.social, first.social)
  t.ok(Object.isFrozen(second.social) && Object.isFrozen(second.app))
  t.end()
})
