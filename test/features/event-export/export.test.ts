import { createSocket } from 'node:dgram'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { recordEvents, systemOrigin } from '../../../src/identity/events.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { runCommandOn } from '../../support/command.ts'
import { temporaryDirectory } from '../../support/process.ts'
import { until } from '../../support/until.ts'
import { Receiver } from './receiver.ts'
import { record } from './record.ts'

const namesIn = (records: readonly { data: { name?: string } }[]) => records.map(({ data }) => data.name)
const exportNow = (svc: TestApp) => svc.app.eventExporter.run()
const waiting = (svc: TestApp) => svc.database.prisma.event.count({ where: { exportedAt: null } })

const appFor = (t: Test, target: string, other?: TestApp): Promise<TestApp> =>
  buildTestApp(t, {
    settings: { audit: { export: target } },
    ...(other && { database: other.where, clock: other.clock }),
  })

t.test('appends events to a file, in order, and survives rotation, crashes and failures', async (t) => {
  const folder = join(temporaryDirectory(t), 'log')
  mkdirSync(folder)
  const file = join(folder, 'events.jsonl')
  const svc = await appFor(t, `file:${file}`)
  const lines = (name = file) =>
    readFileSync(name, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  await record(svc, 'one', 'two')
  t.equal(await exportNow(svc), true)
  t.same(namesIn(lines()), ['one', 'two'])
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.match(lines()[0], { type: 'login', outcome: 'success', ip_address: '192.0.2.7', user_agent: /\u2028\u202e/ })
  t.match(readFileSync(file, 'latin1'), /^[ -~\n]*$/, 'a line is printable ASCII')
  t.equal(await waiting(svc), 0)

  renameSync(file, `${file}.1`)
  await record(svc, 'three')
  await exportNow(svc)
  t.same(namesIn(lines()), ['three'], 'in a new file after a rotation')
  t.equal(statSync(file).mode & 0o777, 0o600)

  writeFileSync(file, '{"cut', { flag: 'a' })
  await record(svc, 'four')
  await exportNow(svc)
  t.equal(readFileSync(file, 'utf8').split('\n')[1], '{"cut', 'a line that a crash cut off stays apart')
  t.equal(JSON.parse(readFileSync(file, 'utf8').split('\n')[2] ?? '').data.name, 'four')

  for (const broken of ['gone', 'link', 'folder']) {
    rmSync(folder, { recursive: true, force: true })
    if (broken !== 'gone') mkdirSync(folder)
    if (broken === 'link') symlinkSync('/dev/null', file)
    if (broken === 'folder') mkdirSync(file)
    await record(svc, broken)
    t.equal(await exportNow(svc), false, broken)
  }
  t.ok(svc.logs.some((line) => line.includes('event_export does not work: ')))
  t.equal(await waiting(svc), 3)
  rmSync(file, { recursive: true })
  chmodSync(folder, 0o700)
  t.equal(await exportNow(svc), true)
  t.same(namesIn(lines()), ['gone', 'link', 'folder'], 'nothing is lost')
  t.ok(svc.logs.some((line) => line.includes('event_export works again')))
})

t.test('exports each event in one process only, and repeated failures again with their number', async (t) => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'events.jsonl')
  const first = await appFor(t, `file:${file}`)
  const second = await appFor(t, `file:${file}`, first)
  const lines = () =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  await record(first, ...Array.from({ length: 250 }, (_, index) => `e${index}`))
  await Promise.all([exportNow(first), exportNow(second), exportNow(first), exportNow(second)])
  t.equal(lines().length, 250, 'once, in more than one batch')
  t.same(
    namesIn(lines()),
    Array.from({ length: 250 }, (_, index) => `e${index}`),
  )

  const origin = () => systemOrigin({ now: first.clock.now(), subscriber: first.app.subscriber })
  const guess = () =>
    recordEvents(first.database, origin(), { type: 'login_failed', userId: null, reason: 'unknown_account' })
  await guess()
  await guess()
  first.clock.advance(2_000)
  for (const svc of [first, second]) await exportNow(svc)
  t.match(lines().at(-1), { type: 'login_failed', outcome: 'failure', times: 2 })
  await guess()
  first.clock.advance(2_000)
  for (const svc of [first, second]) await exportNow(svc)
  t.match(lines().slice(-2), [{ times: 2 }, { times: 3 }])
  t.equal(lines().at(-1).id, lines().at(-2).id)

  await first.app.close()
  await record(second, 'later')
  await exportNow(second)
  t.equal(lines().at(-1).data.name, 'later', 'another process continues')
})

t.test('sends RFC 5424 messages over TCP, and again after a lost connection', async (t) => {
  const receiver = new Receiver()
  await receiver.listen(0)
  const { port } = receiver
  const svc = await appFor(t, `syslog+tcp://127.0.0.1:${port}`)
  await record(svc, 'one')
  t.equal(await exportNow(svc), true)
  await until(() => receiver.messages.length === 1)
  t.match(
    receiver.messages[0],
    /^<86>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [!-~]+ svc \d+ login \[origin software="svc" swVersion="[^"]+"\] \{[ -~]*\}$/,
  )
  t.notMatch(receiver.messages[0], /\n/, 'the user agent forges no message')

  await receiver.close()
  await until(async () => {
    await record(svc, 'two')
    return !(await exportNow(svc))
  })
  const pending = await waiting(svc)
  t.ok(pending > 0)
  const again = new Receiver()
  await again.listen(port)
  t.equal(await exportNow(svc), true)
  await until(() => again.messages.length >= pending)
  t.ok(namesIn(again.records).every((name) => name === 'one' || name === 'two'))
  t.equal(await waiting(svc), 0)
  await again.close()

  const unix = new Receiver()
  const path = join(temporaryDirectory(t), 'syslog')
  await new Promise<void>((resolve) => unix.server.listen(path, resolve))
  const other = await appFor(t, `syslog+unix:${path}`)
  await record(other, 'unix')
  t.equal(await exportNow(other), true)
  await until(() => unix.messages.length === 1)
  t.same(namesIn(unix.records), ['unix'])
  await unix.close()
})

t.test('sends datagrams, and notices a port of this machine without a receiver', async (t) => {
  const receiver = createSocket('udp4')
  const messages: string[] = []
  receiver.on('message', (message) => messages.push(message.toString()))
  await new Promise<void>((resolve) => receiver.bind(0, '127.0.0.1', resolve))
  const { port } = receiver.address()
  const svc = await appFor(t, `syslog+udp://127.0.0.1:${port}`)
  await record(svc, 'one', 'two')
  t.equal(await exportNow(svc), true)
  await until(() => messages.length === 2)
  t.match(messages, [/^<86>1 .*"name":"one"/, /^<86>1 .*"name":"two"/])
  await new Promise<void>((resolve) => receiver.close(() => resolve()))
  await record(svc, 'three')
  t.equal(await exportNow(svc), false)
  t.equal(await waiting(svc), 1)
})

t.test('exports the head of the sealed audit trail once, with which audit:verify detects a missing end', async (t) => {
  const file = join(temporaryDirectory(t), 'events.jsonl')
  const svc = await appFor(t, `file:${file}`)
  const seal = async () => {
    svc.clock.advance(60_000)
    await svc.app.sealer.run()
    svc.clock.advance(60_000)
    await svc.app.sealer.run()
  }
  const heads = () =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === 'audit_head')
  await record(svc, 'one')
  await seal()
  await exportNow(svc)
  await exportNow(svc)
  t.match(heads(), [{ seal: 1, hash: String, signature: String, key: String, sealed_at: String }])
  t.equal(heads().length, 1)
  await record(svc, 'two')
  await seal()
  await exportNow(svc)
  t.match(heads()[1], { seal: 2 })
  const verify = () => runCommandOn(svc, 'audit:verify', `--head=${file}`)
  t.match(await verify(), [/^Unchanged: 2 events, 2 seals/])
  await svc.database.prisma.eventSeal.deleteMany({ where: { id: 2n } })
  t.match(await verify(), ['The end of the chain was cut: it ends with the seal 1, and the head is number 2.'])
  process.exitCode = 0
})
