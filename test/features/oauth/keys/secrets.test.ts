// engine: none
import t from 'tap'
import { day, hour } from '../../../support/clock.ts'
import { countVerified, firstSecret, openRings, signed, signers } from './rings.ts'

const secondSecret = 'the-second-secret-is-32-bytes-long!!'

t.test('re-encrypts the keys with a new secret, after which the old one may be removed', async (t) => {
  const { open, clock, database } = await openRings(t)
  const old = await open()
  const before = await database.prisma.oauthKey.findMany({ orderBy: { id: 'asc' } })
  const both = await open({ secret: [secondSecret, firstSecret] })
  t.equal(both.current().version, old.current().version)
  t.same(await database.prisma.oauthKey.findMany({ orderBy: { id: 'asc' } }), before, 'it can be undone')

  clock.advance(hour)
  await both.refresh()
  const after = await database.prisma.oauthKey.findMany({ orderBy: { id: 'asc' } })
  t.same(
    after.map(({ id }) => id),
    before.map(({ id }) => id),
  )
  t.notOk(
    after.some(({ privateKey }, index) => privateKey === before[index]?.privateKey),
    'all encrypted again',
  )
  await both.refresh()
  t.same(await database.prisma.oauthKey.findMany({ orderBy: { id: 'asc' } }), after, 'once')

  await old.refresh()
  t.equal(
    await countVerified(both.current().public, await signed(old.current())),
    3,
    'running processes keep their keys',
  )
  const moved = await open({ secret: [secondSecret] })
  t.equal(moved.current().version, both.current().version)
})

t.test('refuses to start with a secret that decrypts no key in use, until the keys are withdrawn', async (t) => {
  const { open, command, database } = await openRings(t)
  const running = await open()
  const secret = [secondSecret]
  await t.rejects(open({ secret }), {
    name: 'ConfigError',
    message: /^table oauth_keys: app\.secret: no secret decrypts the \w+ signing key .*svc key:rotate --withdraw/,
  })
  t.equal(await database.prisma.oauthKey.count(), 3, 'other processes lose nothing')
  const [first = '{}'] = await command('keys:list', secret)
  t.match(JSON.parse(first), { state: 'signing', readable: false })

  await command('keys:rotate --withdraw', secret)
  const ring = await open({ secret })
  t.equal(await countVerified(ring.current().public, await signed(ring.current())), 3)
  t.equal(await countVerified(ring.current().public, await signed(running.current())), 0)
  await t.rejects(
    running.refresh(),
    /no signing key that app.secret decrypts/,
    'the process with the lost secret reports it',
  )
})

t.test('signs with the previous key while it cannot read the next one, and logs it once', async (t) => {
  const { open, command, clock, logs } = await openRings(t)
  const ring = await open()
  const before = ring.current()
  await command('keys:rotate --algorithm=ES256', [secondSecret, firstSecret])
  await ring.refresh()
  await ring.refresh()
  const complaints = logs.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error')
  t.equal(complaints.length, 1)
  t.match(complaints, [{ algorithm: 'ES256', kid: String, msg: /no secret in app.secret decrypts/ }])
  clock.advance(2 * hour)
  t.same(signers(ring.current()), signers(before))
  const both = await open({ secret: [secondSecret, firstSecret] })
  t.equal(await countVerified(both.current().public, await signed(ring.current())), 3, 'which the others accept')
})

t.test('omits an unreadable retired key from the set', async (t) => {
  const { open, command, clock, logs, database } = await openRings(t)
  await open()
  await command('keys:rotate', [secondSecret, firstSecret])
  clock.advance(day)
  const ring = await open({ secret: [secondSecret] })
  t.equal(ring.current().public.keys.length, 3)
  t.equal(await database.prisma.oauthKey.count(), 6)
  t.equal(logs.filter((line) => line.includes('decrypts a signing key')).length, 3)
})
