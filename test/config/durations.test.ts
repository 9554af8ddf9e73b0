// engine: none
import t from 'tap'
import { parseConfig } from '../../src/config/load.ts'
import { shownValues } from '../../src/config/shown.ts'
import { configOf, linesOf, table } from './problems.ts'

const hour = 3_600_000

const loaded = (text: string, env = {}) => parseConfig({ text, file: 'svc.yaml', env, cwd: '/srv' })

const former = `
expiration: 525600
tokens:
  prune_after_hours: 48
session:
  lifetime: 90
  remember_days: 90
`

const current = `
expiration: 365d
tokens:
  prune_after: 2d
session:
  lifetime: 90m
  remember_lifetime: 90d
`

t.test('reads numbers of minutes, hours and days as durations, including under former key names', async (t) => {
  t.strictSame(configOf(former), configOf(current))
  const { expiration, tokens, session } = configOf(current)
  t.equal(expiration, 365 * 24 * hour)
  t.equal(tokens.prune_after, 48 * hour)
  t.match(session, { lifetime: 1.5 * hour, remember_lifetime: 90 * 24 * hour })
  t.equal(configOf('tokens: { prune_after_hours: 0 }').tokens.prune_after, 0)
  t.equal(configOf('session: { remember_days: \u0024{DAYS} }', { DAYS: '7' }).session.remember_lifetime, 7 * 24 * hour)
})

t.test('warns of former spellings with the current one', async (t) => {
  t.strictSame(loaded(former).warnings, [
    'svc.yaml:2: expiration: this spelling is deprecated; write expiration: 365d',
    'svc.yaml:4: tokens.prune_after_hours: this spelling is deprecated; write prune_after: 2d',
    'svc.yaml:6: session.lifetime: this spelling is deprecated; write lifetime: 90m',
    'svc.yaml:7: session.remember_days: this spelling is deprecated; write remember_lifetime: 90d',
  ])
  t.strictSame(loaded(current).warnings, [])
})

t.test('rejects a key that is set under both names, with both lines', async (t) => {
  t.strictSame(linesOf('session:\n  remember_days: 90\n  remember_lifetime: 90d'), [
    'svc.yaml:2: session.remember_days: was replaced by remember_lifetime, which is also set; remove remember_days',
    'svc.yaml:3: session.remember_lifetime: cannot be combined with remember_days, its former name; remove remember_days',
  ])
})

t.test('names the line of a former key as the source of the current one', async (t) => {
  const shown = shownValues(loaded(former)).filter(({ source }) => source === 'file')
  t.strictSame(
    shown.map(({ key, value, line }) => [key, value, line]),
    [
      ['expiration', '365d', 2],
      ['tokens.prune_after', '2d', 4],
      ['session.lifetime', '90m', 6],
      ['session.remember_lifetime', '90d', 7],
    ],
  )
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
  ...['1s', '3650d', '1', '5256000'].map((value) => [`session: { lifetime: ${value} }`] as const),
  // PostgreSQL rejects dates before the year 1.
  ...['session.absolute_lifetime', 'passwords.reset_expires', 'passwords.reset_throttle'].map((key) => {
    const [section, name] = key.split('.')
    return [`${section}: { ${name}: 999999d }`, key, /at most 36500d/] as const
  }),
  ...['90', '0d', '4000d', '1.5d', 'null'].map(
    (value) => [`session: { remember_lifetime: ${value} }`, 'session.remember_lifetime', /at most 3650d/] as const,
  ),
  ...['0', '3651', '1.5', '30d', 'null'].map(
    (value) => [`session: { remember_days: ${value} }`, 'session.remember_days', /integer from 1 to 3650/] as const,
  ),
  ...['0', '-1', '1.5', '0d', '1439998560000', '1x'].map(
    (value) => [`expiration: ${value}`, 'expiration', /duration such as .* greater than zero, or null/] as const,
  ),
  ['tokens: { prune_after: 24 }', 'tokens.prune_after', /duration such as/],
  ['tokens: { prune_after: 0h }'],
  ['tokens: { prune_after_hours: -1 }', 'tokens.prune_after_hours', /integer from 0/],
  ['tokens: { prune_after_hours: 23999977 }', 'tokens.prune_after_hours', /integer from 0 to 23999976/],
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
