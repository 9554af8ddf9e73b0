// engine: none
import t from 'tap'
import {
  cacheSeconds,
  isExpired,
  type KeyTimes,
  keysInOrder,
  keysToCreate,
  refreshInterval,
  rotationOf,
  signingKeyOf,
  stateOf,
} from '../../../../src/features/oauth/keys/rotation.ts'
import { type Settings, testConfig } from '../../../support/app.ts'
import { day, hour, minute, second } from '../../../support/clock.ts'

const rotation = { every: 90 * day, lead: hour, keep: 120 * day }

const key = (kid: string, signsFrom: number, retiredAt: number | null = null): KeyTimes => ({
  kid,
  algorithm: 'ES256',
  createdAt: 0,
  signsFrom,
  retiredAt,
})

t.test('computes the durations from a configuration', async (t) => {
  const client = (client_id: string, ttl: Settings) => {
    const rest = { type: 'confidential', secret: 's', grants: ['client_credentials'] }
    return { client_id, ...rest, ...ttl }
  }
  const cases: [Settings, { every: number; lead: number; keep: number }][] = [
    [{}, rotation],
    [{ oauth: { key_rotation: '2h' } }, { ...rotation, every: 2 * hour, lead: 30 * minute }],
    [{ oauth: { key_rotation: '1m' } }, { ...rotation, every: minute, lead: minute }],
    [{ oauth: { personal_access_token_ttl: '1d' } }, { ...rotation, keep: 31 * day }],
    [{ oauth: { personal_access_token_ttl: '1s', refresh_token_ttl: '1d' } }, { ...rotation, keep: day + 15 * minute }],
    [{ clients: [client('a', { access_token_ttl: '100d' })] }, { ...rotation, keep: 130 * day }],
    [
      {
        oauth: { personal_access_token_ttl: '1s' },
        apis: { a: { audience: 'https://a.example', scopes: ['a'], token_ttl: '1d' } },
      },
      { ...rotation, keep: 31 * day },
    ],
    [
      {
        clients: [client('a', { refresh_token_ttl: '60d' }), client('b', {})],
      },
      { ...rotation, keep: 150 * day },
    ],
  ]
  for (const [settings, expected] of cases) {
    const found = rotationOf(testConfig(settings).current())
    t.same(found, expected, JSON.stringify(settings))
    // A process reads the new key late, and just before that serves a set that may be cached.
    t.ok(refreshInterval + cacheSeconds(found) * second < found.lead, 'every cached set has the key before it signs')
  }
})

t.test('selects the same signing key in every process', async (t) => {
  const cases: [KeyTimes[], number, string | undefined][] = [
    [[], 5, undefined],
    [[key('a', 1)], 5, 'a'],
    [[key('a', 1), key('b', 6)], 5, 'a'],
    [[key('b', 6), key('a', 1)], 6, 'b'],
    [[key('c', 9), key('b', 6), key('a', 1)], 8, 'b'],
    [[key('b', 9), key('a', 6)], 5, 'a'],
    [[key('b', 1), key('a', 1)], 5, 'b'],
    [[key('a', 1), key('b', 1)], 5, 'b'],
  ]
  for (const [keys, now, expected] of cases) t.equal(signingKeyOf(keysInOrder(keys, 'ES256'), now)?.kid, expected)
  t.same(keysInOrder([key('a', 1)], 'RS256'), [])
  const keys = [key('a', 1), key('b', 6), key('c', 9)]
  t.same(
    keys.map((one) => stateOf(one, keys, 7)),
    ['retired', 'signing', 'next'],
  )
})

t.test('selects the keys that are due', async (t) => {
  const at = rotation.every - hour
  const cases: [KeyTimes[], number, number | null][] = [
    [[], 7, 7],
    [[key('a', 0)], at - 1, null],
    [[key('a', 0)], at, at + hour],
    [[key('a', 0)], 10 * rotation.every, 10 * rotation.every + hour],
    [[key('a', 0), key('b', at + hour)], at, null],
    [[key('a', 0), key('b', at + hour)], at + hour, null],
    [[key('a', 0), key('b', at + hour)], 2 * at + hour, 2 * at + 2 * hour],
  ]
  for (const [keys, now, expected] of cases) {
    const [found] = keysToCreate(keys, rotation, now).filter(({ algorithm }) => algorithm === 'ES256')
    t.equal(found?.signsFrom ?? null, expected)
    t.equal(found?.withdraws ?? false, false)
  }
  t.same(
    keysToCreate([key('a', 0)], rotation, 1).map(({ algorithm }) => algorithm),
    ['RS256', 'EdDSA'],
    'each algorithm separately',
  )
  const brief = { ...rotation, every: second, lead: minute }
  t.equal(keysToCreate([key('a', 0), key('b', 2)], brief, 1).length, 2, 'never two pending keys')
})

t.test('determines when a key expires', async (t) => {
  t.equal(isExpired(key('a', 0), rotation, 1000 * day), false)
  t.equal(isExpired(key('a', 0, day), rotation, 121 * day - 1), false)
  t.equal(isExpired(key('a', 0, day), rotation, 121 * day), true)
})
