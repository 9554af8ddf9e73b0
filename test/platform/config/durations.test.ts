// engine: none
import t from 'tap'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { shownValues } from '../../../src/platform/config/shown.ts'
import { configOf, linesOf, table } from './problems.ts'

const hour = 3_600_000

const loaded = (text: string, env = {}) => parseConfig({ text, file: 'svc.yaml', env, cwd: '/srv' })

t.test('reads a number as minutes for the maximum age of API tokens only', async (t) => {
  t.equal(configOf('expiration: 525600').expiration, 365 * 24 * hour)
  t.equal(configOf('expiration: 365d').expiration, 365 * 24 * hour)
  t.match(linesOf('session: { lifetime: 120 }'), [/session\.lifetime: must be a duration such as/])
})

table('durations', [
  ...['1.5', '-5', '0', '0m', '-2h', '1.5h', '1x', '2 h', '1h30m', '3651d', '9999999d', '5256001', 'true', 'null'].map(
    (value) =>
      [
        `session: { lifetime: ${value} }`,
        'session.lifetime',
        /duration such as .* greater than zero, at most 3650d/,
      ] as const,
  ),
  ...['1s', '3650d'].map((value) => [`session: { lifetime: ${value} }`] as const),
  // PostgreSQL rejects dates before the year 1.
  ...['session.absolute_lifetime', 'passwords.reset_expires', 'passwords.reset_throttle'].map((key) => {
    const [section, name] = key.split('.')
    return [`${section}: { ${name}: 999999d }`, key, /at most 36500d/] as const
  }),
  ...['90', '0d', '4000d', '1.5d', 'null'].map(
    (value) => [`session: { remember_lifetime: ${value} }`, 'session.remember_lifetime', /at most 3650d/] as const,
  ),
  ...['0', '-1', '1.5', '0d', '1439998560000', '1x'].map(
    (value) => [`expiration: ${value}`, 'expiration', /duration such as .* greater than zero, or null/] as const,
  ),
  ['tokens: { prune_after: 24 }', 'tokens.prune_after', /duration such as/],
  ['tokens: { prune_after: 0h }'],
])

table('a duration that can be off', [
  ['session: { confirmed_by_sign_in: off }'],
  ['session: { confirmed_by_sign_in: false }'],
  ['session: { confirmed_by_sign_in: 1h }'],
  ['session: { confirmed_by_sign_in: true }', 'session.confirmed_by_sign_in', /or off/],
  ['session: { confirmed_by_sign_in: 0m }', 'session.confirmed_by_sign_in', /or off/],
  ['session: { confirmed_by_sign_in: null }', 'session.confirmed_by_sign_in'],
])

t.test('shows a duration that is off as off', async (t) => {
  for (const value of ['off', 'false']) {
    const shown = shownValues(loaded(`session: { confirmed_by_sign_in: ${value} }`))
    t.equal(shown.find(({ key }) => key === 'session.confirmed_by_sign_in')?.value, 'off')
  }
})
