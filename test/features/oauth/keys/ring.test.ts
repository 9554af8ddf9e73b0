import { calculateJwkThumbprint } from 'jose'
import t from 'tap'
import { refreshInterval } from '../../../../src/features/oauth/keys/rotation.ts'
import { day, hour, minute, second, TestClock } from '../../../support/clock.ts'
import { algorithms, countVerified, openRings, signed, signers } from './rings.ts'

t.test('creates a key for each algorithm in the first process, which sign immediately', async (t) => {
  const { open, database, logs, clock } = await openRings(t)
  const ring = await open()
  const set = ring.current()
  t.match(set.public.keys, [
    { kty: 'RSA', alg: 'RS256', use: 'sig', n: /^.{342}$/, e: 'AQAB' },
    { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' },
    { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' },
  ])
  for (const key of set.public.keys) {
    t.equal(key.kid, await calculateJwkThumbprint(key), 'the RFC 7638 thumbprint')
    const secret = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth'].filter((part) => part in key)
    t.same(secret, [], 'no private key is published')
  }
  t.equal(await countVerified(set.public, await signed(set)), 3)
  t.ok(Object.isFrozen(set.private[0]))

  const rows = await database.prisma.oauthKey.findMany()
  for (const jwk of set.private) {
    const row = rows.find(({ id }) => id === jwk.kid)
    t.match(row, { algorithm: jwk.alg, createdAt: new Date(clock.now()), retiredAt: null })
    const stored = Buffer.from(row?.privateKey ?? '', 'base64url').toString('latin1') + row?.privateKey
    t.notOk(
      [jwk.d, jwk.kid, '"kty"'].some((part) => stored.includes(part)),
      'encrypted at rest',
    )
    t.notOk(
      logs.some((line) => line.includes(jwk.d)),
      'and not in the logs',
    )
  }
  t.equal(await database.prisma.event.count(), 0, 'nothing was rotated')
})

t.test('creates one set when several processes start together', async (t) => {
  const { open, database } = await openRings(t)
  const rings = await Promise.all(Array.from({ length: 4 }, () => open()))
  t.equal(await database.prisma.oauthKey.count(), 3)
  t.equal(new Set(rings.map((ring) => ring.current().version)).size, 1)
  const behind = await open({ clock: new TestClock(Date.parse('2026-11-20T11:59:00.000Z')) })
  t.same(signers(behind.current()), signers(rings[0]?.current() ?? behind.current()), 'also with different clocks')
  t.equal(await database.prisma.oauthKey.count(), 3)
})

t.test('rotates keys, and no verifier with a cached set rejects a token', async (t) => {
  const { open, database, clock } = await openRings(t)
  const settings = { oauth: { key_rotation: '2d', refresh_token_ttl: '1d', personal_access_token_ttl: '3d' } }
  const [one, two] = [await open({ settings }), await open({ settings })]
  const changes: string[] = []
  two.onChange((set) => changes.push(set.version))
  const first = one.current()
  const early = await signed(first)

  clock.advance(2 * day - hour - second)
  await one.refresh()
  t.equal(one.current().version, first.version, 'not yet')
  t.equal(first.maxAge, 600)
  const cached = one.current().public

  clock.advance(second)
  // Both find it due at the same moment.
  await Promise.all([one.refresh(), two.refresh()])
  t.equal(await database.prisma.oauthKey.count(), 6)
  const events = await database.prisma.event.findMany()
  t.same(
    events.map(({ type }) => type),
    Array(3).fill('key_rotated'),
  )
  const next = one.current()
  t.not(next.version, first.version)
  t.same(signers(next), signers(first), 'published, but not signing yet')
  t.equal(next.public.keys.length, 6)

  // Verifiers that cached the old set just before the slower process saw the new keys have refreshed it by then.
  const cachedAtMostUntil = refreshInterval + first.maxAge * second
  t.ok(cachedAtMostUntil < hour)
  t.equal(await countVerified(cached, await signed(next)), 3)
  clock.advance(hour - 1)
  await one.refresh()
  t.same(signers(one.current()), signers(first))
  const published = two.current().public

  clock.advance(1)
  // Neither has read the database: only the clock causes the switch.
  const after = one.current()
  t.equal(after.version, two.current().version)
  t.same(
    signers(after).filter((kid) => signers(first).includes(kid)),
    [],
    'all three sign with new keys',
  )
  const late = await signed(after)
  t.equal(await countVerified(published, late), 3, 'the set from before the switch has the keys')
  t.equal(await countVerified(after.public, [...early, ...late]), 6)
  for (const alg of algorithms) {
    const kids = after.private.filter((key) => key.alg === alg).map(({ kid }) => kid)
    t.same(kids, [after.signing[alg].kid, first.signing[alg].kid], 'the signing key comes first')
  }
  await two.refresh()
  t.same(changes, [next.version, after.version])

  // A day for refresh tokens and hints, and three days for the maximum access token lifetime.
  clock.advance(4 * day - 1)
  await one.refresh()
  t.equal(await countVerified(one.current().public, early), 3)
  clock.advance(1)
  await one.refresh()
  await two.refresh()
  t.equal(await countVerified(two.current().public, early), 0, 'the first keys are removed')
  t.equal(await countVerified(two.current().public, late), 3)
  const rows = await database.prisma.oauthKey.findMany()
  t.notOk(rows.some(({ id }) => signers(first).includes(id)))
})

t.test('publishes keys before use, also with short rotations or after a long stop', async (t) => {
  const { open, database, clock } = await openRings(t)
  const ring = await open({ settings: { oauth: { key_rotation: '1s' } } })
  t.equal(ring.current().maxAge, 50)
  let signing = signers(ring.current())
  for (let round = 0; round < 3; round++) {
    clock.advance(second)
    await ring.refresh()
    const { public: published } = ring.current()
    t.same(signers(ring.current()), signing)
    clock.advance(30 * second)
    await ring.refresh()
    t.equal(ring.current().public.keys.length, published.keys.length, 'one successor at a time')
    clock.advance(30 * second)
    t.not(signers(ring.current()).join(), signing.join())
    t.equal(await countVerified(published, await signed(ring.current())), 3)
    signing = signers(ring.current())
  }
  await ring.close()
  clock.advance(365 * day)
  const again = await open()
  t.same(signers(again.current()), signing, 'the old key signs while its successor is new')
  clock.advance(hour)
  t.not(signers(again.current()).join(), signing.join())
  t.equal(await database.prisma.oauthKey.count(), 6, 'and long expired keys are removed')
})

t.test('looks up an unknown key at most once a second', async (t) => {
  const { open, command, clock } = await openRings(t)
  const ring = await open()
  await command('keys:rotate --now')
  const other = await open()
  const [kid = ''] = other
    .current()
    .public.keys.map((key) => key.kid)
    .filter((id) => !ring.current().version.includes(id))
  t.not(kid, '')
  t.equal(await ring.knows(kid), false, 'it looked a moment ago')
  clock.advance(second)
  t.equal(await ring.knows('nobodys'), false)
  t.equal(await ring.knows(kid), true, 'that lookup found it')
  t.equal(await ring.knows(ring.current().signing.ES256.kid), true)
  await command('keys:rotate --now')
  clock.advance(minute)
  const third = await open()
  t.equal(await ring.knows(third.current().signing.ES256.kid), true)
})
