// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Sealer } from '../../../src/features/audit-seal/sealer.ts'
import { HeadKeys } from '../../../src/features/audit-seal/signing-key.ts'
import { verifyChain } from '../../../src/features/audit-seal/verify.ts'
import { runCommandOn } from '../../support/command.ts'
import { temporaryDirectory } from '../../support/process.ts'
import { buildSealed } from './sealed.ts'

t.test('seals events once they are final, and each of them once', async (t) => {
  const svc = await buildSealed(t)
  const ada = await svc.createUser()
  t.match(await svc.verify(), { problem: null, seals: 0, events: 0 })
  await svc.event({ type: 'login', userId: ada.id })
  await svc.sealer.run()
  t.equal((await svc.verify()).events, 0, 'the first run only notes the last id')
  svc.clock.advance(59_000)
  t.equal(await svc.sealer.run(), 0, 'a transaction with a lower id may commit later')
  svc.clock.advance(1_000)
  t.equal(await svc.sealer.run(), 1)
  t.match(await svc.verify(), { problem: null, seals: 1, events: 1 })

  for (const _ of [1, 2, 3]) await svc.event({ type: 'login_failed', userId: ada.id })
  await svc.seal(0)
  t.equal((await svc.verify()).events, 1, 'failures are still counted')
  await svc.event({ type: 'login_failed', userId: ada.id })
  await svc.seal()
  t.match(await svc.verify(), { problem: null, events: 2 })
  t.equal(await svc.sealer.run(), 0)
})

t.test('seals every event in batches, also with two processes', async (t) => {
  const svc = await buildSealed(t)
  const ada = await svc.createUser()
  for (let at = 0; at < 1_203; at++) await svc.event({ type: 'login', userId: ada.id, data: { at } })
  const other = new Sealer(svc.app)
  await Promise.all([svc.sealer.run(), other.run()])
  svc.clock.advance(60_000)
  await Promise.all([svc.sealer.run(), other.run()])
  await other.run()
  const found = await svc.verify()
  t.match(found, { problem: null, events: 1_203 })
  t.ok(found.seals >= 3)
})

t.test('stays valid when the accounts of sealed events are deleted', async (t) => {
  const svc = await buildSealed(t)
  const [ada, bob, admin] = [
    await svc.createUser({ email: 'ada@example.com' }),
    await svc.createUser(),
    await svc.createUser(),
  ]
  await svc.event({ type: 'login', userId: ada.id })
  await svc.event({ type: 'token_created', userId: ada.id, data: { name: 'laptop of Ada' } })
  await svc.event({ type: 'user_updated', userId: ada.id, reason: 'asked by mail' }, { actor: `user:${admin.id}` })
  await svc.event({ type: 'user_updated', userId: bob.id, reason: 'T1' }, { actor: `user:${ada.id}` })
  await svc.event({ type: 'login_failed', userId: null })
  await svc.seal()
  t.match(await svc.verify(), { problem: null, events: 5 })
  const [seal] = await svc.database.prisma.eventSeal.findMany()
  t.notMatch(seal?.body, /203\.0\.113|laptop|Browser|asked/)

  await runCommandOn(svc, 'user:delete', '--email=ada@example.com', '--yes')
  t.equal(await svc.database.prisma.eventKey.count({ where: { userId: BigInt(ada.id) } }), 0)
  t.match(await svc.verify(), { problem: null }, 'before the deletion itself is sealed')
  await svc.seal()
  t.match(await svc.verify(), { problem: null })
  const rows = await svc.database.prisma.event.findMany({ where: { userId: BigInt(ada.id), type: 'token_created' } })
  t.match(rows, [{ ipAddress: null, data: '{}' }])
  // Now that the key is gone, nobody can put other values in place of the deleted ones.
  const [row] = rows
  await svc.database.prisma.event.update({ where: { id: row?.id ?? 0n }, data: { ipAddress: '198.51.100.1' } })
  t.match(await svc.verify(), { problem: `The event ${row?.id} was changed (seal 1).` })
})

t.test('does not take cleared events of an existing account for a deletion', async (t) => {
  const svc = await buildSealed(t)
  const ada = await svc.createUser()
  await svc.event({ type: 'login', userId: ada.id })
  await svc.seal()
  const [row] = await svc.database.prisma.event.findMany()
  await svc.database.prisma.event.updateMany({ data: { ipAddress: null, userAgent: null } })
  t.match(await svc.verify(), { problem: `The event ${row?.id} was changed (seal 1).` })
  await svc.database.prisma.eventKey.deleteMany()
  t.match(await svc.verify(), { problem: /was changed/ }, 'nor without its key')
  await svc.event({ type: 'user_deleted', userId: ada.id })
  t.match(await svc.verify(), { problem: /was changed/ }, 'nor with a forged deletion, while the account exists')
})

t.test('keeps a checkpoint when the retention deletes events and seals', async (t) => {
  const svc = await buildSealed(t, { audit: { retention: '10d' } })
  const ada = await svc.createUser()
  const day = 86_400_000
  for (let at = 0; at < 30; at++) {
    await svc.event({ type: 'login', userId: ada.id, data: { at } })
    await svc.event({ type: 'login_failed', userId: ada.id, data: { at } })
    await svc.seal()
    svc.clock.advance(day)
    await svc.sealer.retain(svc.clock.now() - 10 * day)
    t.match(await svc.verify(), { problem: null })
  }
  const { prisma } = svc.database
  t.ok((await prisma.event.count()) < 25)
  t.ok((await prisma.eventSeal.count()) < 50, 'seals of deleted events are deleted too')
  const [first] = await prisma.eventSeal.findMany({ orderBy: { id: 'asc' }, take: 1 })
  t.ok(Number(first?.id) > 10)
  await prisma.eventSeal.deleteMany({ where: { id: first?.id ?? 0n } })
  t.match(await svc.verify(), { problem: /^The seals before \d+ were deleted/ })
})

t.test('detects with a head that the end of the chain was cut or rewritten', async (t) => {
  const svc = await buildSealed(t)
  const { prisma } = svc.database
  const ada = await svc.createUser()
  for (let at = 0; at < 3; at++) {
    await svc.event({ type: 'login', userId: ada.id, data: { at } })
    await svc.seal()
  }
  const file = join(temporaryDirectory(t), 'head.json')
  const [printed = ''] = await runCommandOn(svc, 'audit:head')
  t.match(JSON.parse(printed), { seal: 3, hash: /^[0-9a-f]{64}$/, signature: String, key: String })
  const verify = async (...words: string[]) => {
    const lines = await runCommandOn(svc, 'audit:verify', ...words)
    const code = Number(process.exitCode ?? 0)
    process.exitCode = 0
    return { code, text: lines.join('\n') }
  }
  for (const text of [printed, `{"id":"1"}\n{"audit":${printed}}\n`, `<86>1 - - svc - - - ${printed}`]) {
    writeFileSync(file, text)
    t.match(await verify(`--head=${file}`), {
      code: 0,
      text: /^Unchanged: 3 events, 3 seals\. The last seal is number 3/,
    })
  }
  writeFileSync(file, printed)
  await prisma.eventSeal.deleteMany({ where: { id: 3n } })
  await prisma.event.deleteMany({ where: { data: '{"at":2}' } })
  t.match(await verify(), { code: 0 }, 'the rest is a valid chain')
  t.match(await verify(`--head=${file}`), {
    code: 1,
    text: 'The end of the chain was cut: it ends with the seal 2, and the head is number 3.',
  })
  await svc.event({ type: 'login', userId: ada.id, data: { at: 3 } })
  await svc.seal()
  t.match(await verify(`--head=${file}`), {
    code: 1,
    text: 'The chain was replaced: its seal 3 is not that of the head.',
  })
  t.match(JSON.parse((await verify('--json')).text), { problem: null, seals: 3, last_seal: { seal: 3 } })

  writeFileSync(file, 'no head\n{"seal":0}\n')
  await t.rejects(verify(`--head=${file}`), { message: /has no head/ })
  await t.rejects(verify('--head=/nowhere'), { message: '--head: /nowhere cannot be read (ENOENT).' })
})

t.test('signs with the first secret, vouches for a former one, and never continues a foreign chain', async (t) => {
  const svc = await buildSealed(t)
  const { prisma } = svc.database
  const ada = await svc.createUser()
  const next = async () => {
    await svc.event({ type: 'login', userId: ada.id })
    await svc.seal()
  }
  await next()
  const [former = ''] = svc.config.current().app.secret
  const fresh = 'another-secret-that-is-32-bytes-long'
  const use = (secret: string[]) =>
    svc.config.swap({ ...svc.config.current(), app: { ...svc.config.current().app, secret } })
  t.match(await verifyChain(svc.database, new HeadKeys([fresh]), null), {
    problem: /^The signature of the seal 1 is wrong/,
  })
  use([fresh, former])
  await next()
  use([fresh])
  await next()
  t.match(await svc.verify(), { problem: null, seals: 3 }, 'the former secret is no longer needed')

  await prisma.eventSeal.updateMany({ where: { id: 1n }, data: { signature: 'AAAA' } })
  t.match(await svc.verify(), { problem: /^The signature of the seal 1/ }, 'each seal needs its signature')
  const last = await prisma.eventSeal.findUniqueOrThrow({ where: { id: 3n } })
  await prisma.eventSeal.update({ where: { id: 3n }, data: { signature: 'AAAA' } })
  await svc.event({ type: 'login', userId: ada.id })
  svc.clock.advance(60_000)
  await t.rejects(svc.seal(), {
    message: /^The signature of the seal 3 is wrong, or of an app.secret that was removed/,
  })
  t.equal(await prisma.eventSeal.count(), 3, 'svc does not sign on top of it')
  await prisma.eventSeal.update({ where: { id: 3n }, data: { signature: last.signature } })
})

t.test('checks each signature, whatever the number of seals', async (t) => {
  const svc = await buildSealed(t)
  const ada = await svc.createUser()
  for (let at = 0; at < 20; at++) {
    await svc.event({ type: 'login', userId: ada.id, data: { at } })
    await svc.seal()
  }
  t.match(await svc.verify(), { problem: null, seals: 20 })
  await svc.database.prisma.eventSeal.updateMany({ where: { id: 20n }, data: { key: 'x' } })
  t.match(await svc.verify(), { problem: /^The signature of the seal 20/ })
})

t.test('is not held up by an event with a time in the future, and says which events are not sealed', async (t) => {
  const svc = await buildSealed(t)
  const ada = await svc.createUser()
  await svc.database.prisma.event.create({ data: { type: 'login_failed', createdAt: new Date('2099-01-01') } })
  await svc.event({ type: 'login_failed', userId: ada.id })
  await svc.seal()
  t.match(await svc.verify(), { problem: null, events: 2 })
  await svc.event({ type: 'login', userId: ada.id })
  svc.clock.advance(5 * 3_600_000)
  t.match(await runCommandOn(svc, 'audit:verify'), [/^Unchanged/, /^1 events are older than four hours and not sealed/])
})

t.test('deletes no event without a checkpoint', async (t) => {
  const svc = await buildSealed(t)
  const ada = await svc.createUser()
  await svc.event({ type: 'login', userId: ada.id })
  await svc.seal()
  await svc.database.prisma.eventSeal.updateMany({ data: { signature: 'AAAA' } })
  await t.rejects(svc.sealer.retain(svc.clock.now()))
  t.equal(await svc.database.prisma.event.count(), 1)
})
