// engine: none
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { runCli, startMain, temporaryDirectory } from '../../support/process.ts'
import { smallDisk } from '../../support/small-disk.ts'
import { Authority } from '../../support/tls-proxy.ts'
import { until } from '../../support/until.ts'
import { Receiver } from './receiver.ts'
import { record } from './record.ts'

t.test('exports to standard output, and to a syslog receiver over TLS with a trusted certificate', async (t) => {
  const [trusted, other] = [new Authority(t), new Authority(t)]
  const stranger = new Receiver(other.issue())
  await stranger.listen(0)
  const { port } = stranger
  const cwd = temporaryDirectory(t)
  const env = { SVC_CONFIG: 'svc.yaml', SVC_RUN_DIR: join(cwd, 'run'), NODE_EXTRA_CA_CERTS: trusted.root }
  const exportTo = (target: string) =>
    writeFileSync(join(cwd, 'svc.yaml'), `audit: { export: '${target}' }\nmail: { url: 'log:' }\n`)
  const create = async (name: string) => {
    const args = ['user:create', `--email=${name}@example.com`, `--name=${name}`]
    const { code, stdout, stderr } = await runCli(args, { cwd, env, input: 'correct horse battery\n' })
    t.equal(code, 0, stderr)
    return Number(JSON.parse(stdout).id)
  }

  exportTo('stdout:')
  const svc = await startMain(t, { cwd, env })
  const ada = await create('ada')
  const printed = () =>
    svc
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('{"audit":'))
      .map((line) => JSON.parse(line).audit)
  await until(() => printed().length > 0)
  t.match(printed(), [{ user_id: ada, outcome: 'success' }], 'one line between those of the log')

  exportTo(`syslog+tls://localhost:${port}`)
  t.equal((await runCli(['config:reload'], { cwd, env })).code, 0)
  const grace = await create('grace')
  await svc.printed(/event_export does not work/)
  const alan = await create('alan')
  t.equal(stranger.messages.length, 0, 'a receiver without a trusted certificate gets nothing')
  await stranger.close()
  const receiver = new Receiver(trusted.issue())
  await receiver.listen(port)
  await until(() => receiver.messages.length >= 2)
  t.match(receiver.messages[0], /^<86>1 \S+ \S+ svc \d+ /)
  t.same(
    receiver.records.map(({ user_id }) => user_id),
    [grace, alan],
    'no event is lost',
  )
  t.equal(printed().length, 1)
  await receiver.close()
  t.equal((await svc.stop()).code, 0)
})

t.test('loses and repeats no event when the disk of the file is full', async (t) => {
  const disk = smallDisk(t)
  if (disk === null) return void t.pass('Only root may mount a small disk.', { skip: true })
  const file = join(disk.folder, 'events.jsonl')
  const svc = await buildTestApp(t, { settings: { audit: { export: `file:${file}` } } })
  const names = Array.from({ length: 250 }, (_, index) => `e${index}`)
  await record(svc, 'first')
  t.equal(await svc.app.eventExporter.run(), true)
  const before = readFileSync(file, 'utf8')
  await record(svc, ...names)
  for (const freePages of [0, 4]) {
    disk.fill(freePages)
    t.equal(await svc.app.eventExporter.run(), false)
    t.equal(readFileSync(file, 'utf8'), before, `with ${freePages} free pages, the file keeps whole batches only`)
    t.equal(await svc.database.prisma.event.count({ where: { exportedAt: null } }), 250)
    disk.empty()
  }
  t.equal(await svc.app.eventExporter.run(), true)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  t.same(
    lines.map((line) => JSON.parse(line).data.name),
    ['first', ...names],
  )
})
