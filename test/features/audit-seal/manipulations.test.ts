// engine: none
// time: slow
import t from 'tap'
import { HeadKeys } from '../../../src/features/audit-seal/signing-key.ts'
import { verifyChain } from '../../../src/features/audit-seal/verify.ts'
import { type Head, headOf } from '../../../src/identity/event-heads.ts'
import { runCommandOn } from '../../support/command.ts'
import { buildSealed } from './sealed.ts'

/** Numbers that a seed determines (mulberry32). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) % below
  }
}

class RolledBack extends Error {}

t.test('finds each of 1,000 random manipulations', async (t) => {
  const svc = await buildSealed(t)
  const { database } = svc
  const { prisma } = database
  const users = [await svc.createUser(), await svc.createUser(), await svc.createUser({ email: 'gone@example.com' })]
  for (let at = 0; at < 120; at++) {
    const user = users[at % 3]
    const data = at % 4 === 0 ? { name: `token ${at}` } : { at }
    const type = at % 5 === 0 ? 'login_failed' : 'token_created'
    await svc.event({
      type,
      userId: at % 7 === 0 ? null : (user?.id ?? 0),
      data,
      ...(at % 3 ? {} : { reason: `T${at}` }),
    })
    if (at % 10 === 9) await svc.seal()
  }
  await runCommandOn(svc, 'user:delete', '--email=gone@example.com', '--yes')
  await svc.seal()
  const keys = new HeadKeys(svc.config.current().app.secret)
  const intact = await svc.verify()
  t.match(intact, { problem: null })
  const head: Head | null = intact.last && headOf(intact.last)
  const events = await prisma.event.findMany({ orderBy: { id: 'asc' } })
  const seals = await prisma.eventSeal.findMany({ orderBy: { id: 'asc' } })

  const random = randomFrom(20_261_128)
  const one = <Value>(list: readonly Value[]): Value => {
    const found = list[random(list.length)]
    if (found === undefined) throw new Error('The list is empty.')
    return found
  }
  type Writer = Pick<typeof prisma, 'event' | 'eventSeal' | 'eventKey' | 'user'>
  const shift = (text: string) => {
    const at = random(text.length)
    return text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1)
  }
  const edits: (() => object)[] = [
    () => ({ type: 'logout' }),
    () => ({ userId: 999n }),
    () => ({ actor: 'operator:mallory' }),
    () => ({ target: `key:${random(100)}` }),
    () => ({ credential: 'token:1' }),
    () => ({ clientId: 'other' }),
    () => ({ reason: `forged ${random(100)}` }),
    () => ({ ipAddress: '198.51.100.9' }),
    () => ({ userAgent: 'Other' }),
    () => ({ requestId: 'other' }),
    () => ({ data: `{"forged":${random(100)}}` }),
    () => ({ repeats: 100 + random(5) }),
    () => ({ createdAt: new Date(random(1e9)) }),
    () => ({ lastAt: new Date(random(1e9)) }),
  ]
  const kinds: Record<string, (tx: Writer) => Promise<unknown>> = {
    edit: (tx) => tx.event.update({ where: { id: one(events).id }, data: one(edits)() }),
    clear: (tx) => {
      const { id } = one(events.filter(({ ipAddress }) => ipAddress !== null))
      return tx.event.update({ where: { id }, data: { ipAddress: null, userAgent: null, credential: null } })
    },
    delete: (tx) => tx.event.delete({ where: { id: one(events).id } }),
    insert: async (tx) => {
      const { id } = one(events)
      const [copy] = await tx.event.findMany({ where: { id } })
      await tx.event.delete({ where: { id } })
      return tx.event.create({
        data: {
          ...one(events),
          id,
          repeatKey: null,
          data: `{"inserted":${random(100)}}`,
          createdAt: copy?.createdAt ?? new Date(0),
        },
      })
    },
    'insert before the first': (tx) =>
      tx.event.create({ data: { ...one(events), id: -BigInt(random(1_000)), repeatKey: null } }),
    swap: async (tx) => {
      const [first, second] = [one(events), one(events.filter(({ data }) => data !== '{}'))]
      const { id: _, repeatKey: __, ...values } = second
      const isSame = first.id === second.id
      return tx.event.update({
        where: { id: first.id },
        data: isSame ? { actor: 'swapped' } : { ...values, repeatKey: null },
      })
    },
    'edit a seal': async (tx) => {
      const seal = one(seals)
      const data = one([() => ({ body: shift(seal.body) }), () => ({ hash: shift(seal.hash) })])()
      return tx.eventSeal.update({ where: { id: seal.id }, data })
    },
    'edit the signature': (tx) => {
      const last = one(seals.slice(-1))
      // The last character has bits that do not count.
      return tx.eventSeal.update({
        where: { id: last.id },
        data: { signature: `A${shift(last.signature.slice(1, -2))}AA` },
      })
    },
    'delete a seal': (tx) => tx.eventSeal.delete({ where: { id: one(seals).id } }),
    'delete a seal with its events': async (tx) => {
      const seal = one(seals)
      const ids = JSON.parse(seal.body).events.map(([id]: [string]) => BigInt(id))
      await tx.event.deleteMany({ where: { id: { in: ids } } })
      return tx.eventSeal.delete({ where: { id: seal.id } })
    },
    'cut the end': async (tx) => {
      const first = one(seals)
      await tx.event.deleteMany({ where: { id: { gte: BigInt(JSON.parse(first.body).events[0]?.[0] ?? 0) } } })
      return tx.eventSeal.deleteMany({ where: { id: { gte: first.id } } })
    },
    'delete a key': (tx) => tx.eventKey.deleteMany({ where: { userId: BigInt(users[random(2)]?.id ?? 0) } }),
    'replace a key': (tx) =>
      tx.eventKey.update({ where: { userId: BigInt(users[random(2)]?.id ?? 0) }, data: { key: 'A'.repeat(43) } }),
    'delete everything': async (tx) => {
      await tx.event.deleteMany()
      return tx.eventSeal.deleteMany()
    },
  }
  const missed: string[] = []
  for (let at = 0; at < 1_000; at++) {
    const kind = one(Object.keys(kinds))
    await database
      .transaction(async (tx) => {
        // Sound: a transaction has the same models.
        await kinds[kind]?.(tx as unknown as Writer)
        const { problem } = await verifyChain({ prisma: tx }, keys, head)
        if (problem === null) missed.push(`${at} ${kind}`)
        throw new RolledBack()
      })
      .catch((error) => {
        if (!(error instanceof RolledBack)) throw error
      })
  }
  t.strictSame(missed, [])
  t.match(await svc.verify(head), { problem: null }, 'the original is intact')
})
