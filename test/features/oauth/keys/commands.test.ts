import t from 'tap'
import { hour, minute, second } from '../../../support/clock.ts'
import { failed, openShell } from '../../../support/shell.ts'
import { algorithms, countVerified, openRings, signed, signers } from './rings.ts'

t.test('creates successors that sign after an hour with keys:rotate, and lists all with keys:list', async (t) => {
  const { open, command, clock, database, logs } = await openRings(t)
  const ring = await open()
  const before = ring.current()
  const list = async () => (await command('keys:list')).map((line) => JSON.parse(line))
  t.strictSame(
    await list(),
    algorithms.map((algorithm) => ({
      kid: before.signing[algorithm].kid,
      algorithm,
      state: 'signing',
      readable: true,
      created_at: '2026-11-20T12:00:00.000000Z',
      signs_from: '2026-11-20T12:00:00.000000Z',
      retired_at: null,
    })),
  )
  const lines = await command('keys:rotate')
  for (const [index, algorithm] of algorithms.entries()) {
    t.match(lines[index], new RegExp(`^${algorithm}: the new key \\S{43} signs from 2026-11-20T13:00:00.000000Z\\.$`))
  }
  t.match(lines[3], /stay published/)
  t.same(
    (await list()).map(({ state, retired_at }) => [state, retired_at]),
    Array(3)
      .fill([
        ['signing', '2026-11-20T13:00:00.000000Z'],
        ['next', null],
      ])
      .flat(),
  )
  const events = await database.prisma.event.findMany({ where: { type: 'key_rotated' } })
  t.equal(events.length, 3)
  t.match(JSON.parse(events[0]?.data ?? ''), { kid: String, algorithm: String, withdraws: false })

  t.match(
    await command('keys:rotate'),
    algorithms.map((name) => new RegExp(`^${name}: the next key is already published`)),
  )
  t.equal((await list()).length, 6, 'a second call creates no more')
  clock.advance(hour)
  t.same(
    (await list()).map(({ state }) => state),
    Array(3).fill(['retired', 'signing']).flat(),
  )
  await ring.refresh()
  const seen = [...(await command('keys:list')), ...lines, ...logs].join()
  const parts = [...before.private, ...ring.current().private].map(({ d }) => d)
  t.notOk(
    parts.some((part) => seen.includes(part)),
    'no private part is printed',
  )
})

t.test('creates one successor when several processes rotate at the same time', async (t) => {
  const { open, command, database } = await openRings(t)
  await open()
  // Ed25519 keys are created immediately, so that all processes reach the database together.
  const outputs = await Promise.all(Array.from({ length: 8 }, () => command('keys:rotate --algorithm=EdDSA')))
  t.equal(outputs.filter(([line]) => line?.includes('the new key')).length, 1)
  t.equal(await database.prisma.oauthKey.count(), 4)
  t.equal(await database.prisma.event.count(), 1)
})

t.test('--now: publishes the key to every replica before one signs with it', async (t) => {
  const { open, command, clock } = await openRings(t)
  const [one, two] = [await open(), await open()]
  const before = one.current()
  const tokens = await signed(before)
  const lines = await command('keys:rotate --now --algorithm=EdDSA')
  t.equal(lines.length, 2)
  t.match(lines[0], /^EdDSA: the new key \S+ signs from 2026-11-20T12:00:10.000000Z\.$/)
  await one.refresh()
  t.same(signers(one.current()), signers(before))
  clock.advance(15 * second)
  await two.refresh()
  clock.advance(15 * second)
  t.same(
    signers(one.current()).map((kid) => signers(before).includes(kid)),
    [true, true, false],
  )
  t.equal(await countVerified(two.current().public, [...tokens, ...(await signed(one.current()))]), 6)
})

t.test('--withdraw: rejects everything that the older keys signed, including pending ones', async (t) => {
  const { open, command, clock } = await openRings(t)
  const ring = await open()
  await command('keys:rotate')
  await ring.refresh()
  const tokens = await signed(ring.current())
  t.match((await command('keys:rotate --withdraw --algorithm=RS256'))[1], /^All older keys were deleted/)
  await ring.refresh()
  t.equal(await countVerified(ring.current().public, tokens), 2)
  t.equal(await countVerified(ring.current().public, await signed(ring.current())), 3)
  t.equal(ring.current().public.keys.length, 5)
  clock.advance(minute)
  await t.rejects(command('keys:rotate --withdraw --now'), /cannot be combined/)
  await t.rejects(command('keys:rotate --algorithm=HS256'), /must be one of RS256, ES256, EdDSA/)
})

t.test('provides the commands in the CLI, and creates the first keys of an installation', async (t) => {
  const { run } = await openShell(t)
  t.equal((await run('', 'keys:list')).stdout, '')
  failed(t, await run('', 'svc:keys:rotate', '--algorithm=none'), /^--algorithm must be one of/)
  const made = await run('', 'svc:keys:rotate')
  t.equal(made.code, 0, made.stderr)
  const listed = await run('', 'svc:keys:list')
  const keys = listed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(
    keys,
    algorithms.map((algorithm) => ({ algorithm, state: 'signing', readable: true })),
  )
})
