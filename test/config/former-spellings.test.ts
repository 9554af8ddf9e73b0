// engine: none
import t from 'tap'
import { parseConfig } from '../../src/config/load.ts'
import { shownValues } from '../../src/config/shown.ts'
import { configOf, linesOf } from './problems.ts'

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

t.test('reads numbers of minutes, hours and days as durations, also under former names', async (t) => {
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
