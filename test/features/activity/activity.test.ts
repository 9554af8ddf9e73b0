import t from 'tap'
import { eventTypes } from '../../../src/platform/event-types.ts'
import { catalogueOf } from '../../../src/platform/languages/messages.ts'
import { addAccount, hides, openAccount } from '../../support/account-pages.ts'
import type { TestApp } from '../../support/app.ts'

const path = '/account/activity'
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

interface Facts {
  type: string
  data?: string
  userAgent?: string
  ipAddress?: string
  repeats?: number
  createdAt?: Date
}

const add = (svc: TestApp, userId: number, facts: Facts) =>
  svc.database.prisma.event.create({ data: { userId: BigInt(userId), createdAt: new Date(svc.clock.now()), ...facts } })

const labelsOn = (body: string): string[] =>
  [...body.matchAll(/<div class="entry">\s*<strong>([^<]*)<\/strong>/g)].map(([, label = '']) => label)

const nextOn = (body: string): string | undefined => /id="more" href="([^"]+)"/.exec(body)?.[1]

t.test('lists the events of the user in words, newest first, and of no other user', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const stranger = await addAccount(t, svc)
  await add(svc, user.id, { type: 'token_created', data: '{"name":"Backup"}', userAgent: firefox })
  await add(svc, user.id, { type: 'login_failed', ipAddress: '192.0.2.7', repeats: 3 })
  await add(svc, stranger.user.id, { type: 'passkey_deleted', data: '{"name":"Theirs"}' })
  const { body } = await browser.open(path)
  t.same(labelsOn(body), ['Failed sign-in', 'API token created', 'Signed in'])
  for (const words of ['Backup', 'Firefox on Linux', '192.0.2.7', '4 times', 'UTC']) t.match(body, words)
  t.notMatch(body, 'Theirs')
  t.notMatch(body, 'Mozilla')
})

t.test('shows a general description for unknown types, and escapes names and browsers', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const evil = '"><script>alert(1)</script>'
  await add(svc, user.id, { type: evil, data: JSON.stringify({ name: evil }), userAgent: evil, ipAddress: evil })
  for (const data of ['null', '[]', '{', '{"name":{"a":1}}']) await add(svc, user.id, { type: 'other', data })
  for (const type of ['__proto__', 'constructor']) await add(svc, user.id, { type })
  const { statusCode, body } = await browser.open(path)
  t.equal(statusCode, 200)
  t.same(labelsOn(body), [...Array(7).fill('Activity in your account'), 'Signed in'])
  t.match(body, '&lt;script&gt;')
  t.notMatch(body, '<script>alert')
})

t.test('shows many events on pages of 25, in a stable order', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const stranger = await addAccount(t, svc)
  const theirs = await add(svc, stranger.user.id, { type: 'logout', data: '{"name":"Theirs"}' })
  // Several events happen in one millisecond.
  for (let index = 0; index < 60; index++) {
    const createdAt = new Date(svc.clock.now() + Math.floor(index / 7))
    await add(svc, user.id, { type: 'login', data: JSON.stringify({ name: `event ${index}.` }), createdAt })
  }
  const seen: string[] = []
  let next: string | undefined = path
  const sizes: number[] = []
  while (next !== undefined) {
    const { body }: { body: string } = await browser.open(next)
    sizes.push(labelsOn(body).length)
    seen.push(...[...body.matchAll(/event (\d+)\./g)].map(([, index = '']) => index))
    next = nextOn(body)
  }
  t.same(sizes, [25, 25, 11])
  t.same(
    seen,
    Array.from({ length: 60 }, (_, index) => String(59 - index)),
  )
  for (const before of ['x', '-1', `${'9'.repeat(15)}-1`, `1-${'9'.repeat(19)}`, '1-1-1', '']) {
    const { statusCode, body } = await browser.open(`${path}?before=${before}`)
    t.equal(statusCode, 200, before)
    t.equal(labelsOn(body).length, 25, before)
  }
  const stolen = `${path}?before=${theirs.createdAt.getTime() + 1}-${theirs.id + 1n}`
  t.notMatch((await browser.open(stolen)).body, 'Theirs', 'the cursor of another user')
  t.equal((await browser.open(`${path}?before=1&before=2`)).statusCode, 200)
})

t.test('has a description for every event of a user', async (t) => {
  // Hosts, keys and invitations belong to no user, and a deleted user has no pages.
  const unseen = ['client_blocked', 'client_unblocked', 'key_rotated', 'user_deleted', 'user_invited']
  t.same(
    eventTypes.filter((type) => catalogueOf('en')[`event.${type}`] === undefined),
    unseen,
  )
})

t.test('hides the section where the configuration does', (t) => hides(t, 'activity'))
