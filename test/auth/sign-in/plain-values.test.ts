// engine: none
import t from 'tap'
import type { Services, Visit } from '../../../src/auth/access/visit.ts'
import { AddressLimit } from '../../../src/auth/sign-in/address-limit.ts'
import { confirmationAge, requireRecentPassword } from '../../../src/auth/sign-in/recent-password.ts'
import { testConfig } from '../../support/app.ts'
import { minute, TestClock } from '../../support/clock.ts'

/** A visit as plain values, without a request and a server. */
function visit(values: { settings?: Record<string, unknown>; session?: object; address?: string } = {}): Visit {
  const app = { config: testConfig(values.settings ?? {}), clock: new TestClock() } as Partial<Services> as Services
  const { session = {}, address = '203.0.113.7' } = values
  return { app, session, address, budget: (budget) => budget } as Partial<Visit> as Visit
}

t.test('counts failures of an address, of an IPv6 network, and of no exempt address', async (t) => {
  const limitOf = (address: string, rate_limits: object = {}) => {
    const from = visit({ settings: { rate_limits }, address })
    return new AddressLimit(from.app.config).counterOf(from)
  }
  t.equal(limitOf('203.0.113.7')?.name, 'login-address:203.0.113.7')
  t.equal(limitOf('2001:db8::1')?.name, limitOf('2001:db8::ffff')?.name)
  t.not(limitOf('2001:db8::1')?.name, limitOf('2001:db8:0:1::1')?.name)
  t.same(limitOf('203.0.113.7', { login_address: '7/1h' })?.rule, { max: 7, window: 60 * minute, block: 'window' })
  t.equal(limitOf('203.0.113.7', { exempt: ['203.0.113.0/24'] }), null)
  t.equal(limitOf('::ffff:203.0.113.7', { exempt: ['203.0.113.0/24'] }), null, 'an IPv4 address in IPv6 form')
  t.ok(limitOf('198.51.100.7', { exempt: ['203.0.113.0/24'] }))
})

t.test('counts a confirmation, or a fresh sign-in by password or passkey, as recent', async (t) => {
  const now = new TestClock().now()
  const ageOf = (session: object, settings = {}) => confirmationAge(visit({ session, settings }))
  const signedIn = (methods: string[], ago: number) => ({ proof: { at: now - ago, methods } })
  t.equal(ageOf({}), null)
  t.equal(ageOf({ passwordConfirmedAt: now - minute }), minute)
  t.equal(ageOf(signedIn(['pwd'], 2 * minute)), 2 * minute)
  t.equal(ageOf(signedIn(['pop'], 0)), 0)
  t.equal(ageOf(signedIn(['otp'], 0)), null, 'a second factor alone does not confirm')
  t.equal(ageOf(signedIn(['pwd'], 24 * 60 * minute)), null, 'an old sign-in')
  t.equal(ageOf(signedIn(['pwd'], 0), { session: { confirmed_by_sign_in: 'off' } }), null)
  t.equal(ageOf({ ...signedIn(['pwd'], 2 * minute), passwordConfirmedAt: now - minute }), minute, 'the later one')
  t.equal(ageOf({ passwordConfirmedAt: now + minute }), 0, 'a clock that was set back')
  t.throws(() => requireRecentPassword(visit()), { code: 'password_confirmation_required' })
  t.throws(() => requireRecentPassword(visit({ session: { passwordConfirmedAt: now - 24 * 60 * minute } })), {
    code: 'password_confirmation_required',
  })
  t.doesNotThrow(() => requireRecentPassword(visit({ session: { passwordConfirmedAt: now } })))
})
