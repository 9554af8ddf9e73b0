// engine: none
// lane: all
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Settings } from '../../src/platform/config/schema.ts'
import { createLogger } from '../../src/platform/observability/logging.ts'
import { loadSettings } from '../../src/process/boot.ts'
import { FilesRead, Reloader } from '../../src/process/reload.ts'
import { temporaryDirectory } from '../support/process.ts'
import { until } from '../support/until.ts'

process.env.SVC_SECRET = 'the-secret-of-the-tests-is-32-bytes-long'

interface Line {
  level: string
  msg: string
  changed?: string[]
  problems?: string[]
}

/** A reloader for one file, with its logs and snapshots. */
function reloading(t: Test, file: string, note: (settings: Settings) => Promise<void> = async () => undefined) {
  process.env.SVC_CONFIG = file
  const files = new FilesRead()
  const boot = loadSettings(files.read)
  const lines: Line[] = []
  const log = createLogger('info', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const reloader = new Reloader({ boot, files, log, note })
  t.teardown(() => reloader.close())
  const logged = async (count: number): Promise<Line | undefined> => {
    await until(() => lines.length >= count)
    return lines[count - 1]
  }
  return { reloader, config: boot.config, lines, logged }
}

const named = (name: string) => `app: { name: ${name} }\n`

t.test('applies a change made between the start and the first check', async (t) => {
  const file = join(temporaryDirectory(t), 'svc.yaml')
  writeFileSync(file, named('One'))
  const { reloader, config, logged } = reloading(t, file)
  writeFileSync(file, named('Two'))
  reloader.start()
  t.match(await logged(1), { level: 'info', changed: ['app.name'] })
  t.equal(config.current().app.name, 'Two')
})

t.test('shows administrators the active values and where they are set, if there are pages for them', async (t) => {
  const file = join(temporaryDirectory(t), 'svc.yaml')
  writeFileSync(file, `${named('One')}admin: { pages: true }\n`)
  const { reloader, config } = reloading(t, file)
  const shown = (key: string) => config.shown().find((value) => value.key === key)
  t.match(shown('app.name'), { value: 'One', source: 'file', line: 1 })
  t.match(shown('app.secret'), { value: null, isSecret: true, source: 'environment', variable: 'SVC_SECRET' })
  t.match(shown('registration.enabled'), { value: true, source: 'default' })
  writeFileSync(file, `\n${named('Two')}admin: { pages: true }\nserver: { port: 9999 }\n`)
  reloader.start()
  await until(() => config.current().app.name === 'Two')
  t.match(shown('app.name'), { value: 'Two', line: 2 })
  t.match(shown('server.port'), { value: 8000 }, 'what needs a restart keeps its value')
  writeFileSync(file, named('Three'))
  await until(() => config.current().app.name === 'Three')
  t.same(config.shown(), [])
})

t.test('reads a file only after it stops changing', async (t) => {
  const file = join(temporaryDirectory(t), 'svc.yaml')
  writeFileSync(file, named('One'))
  const { reloader, config, lines, logged } = reloading(t, file)
  writeFileSync(file, 'clients: [\n')
  reloader.start()
  // The current content would be reported as invalid.
  writeFileSync(file, named('Two'))
  await logged(1)
  t.same(
    lines.map(({ level }) => level),
    ['info'],
  )
  t.equal(config.current().app.name, 'Two')
})

t.test('keeps the active configuration while the file is missing or empty, and reports it once', async (t) => {
  const file = join(temporaryDirectory(t), 'svc.yaml')
  writeFileSync(file, named('One'))
  const { reloader, config, lines, logged } = reloading(t, file)
  reloader.start()
  unlinkSync(file)
  t.match(await logged(1), {
    level: 'error',
    problems: [/svc\.yaml: the configuration file cannot be read \(no such file\)$/],
  })
  writeFileSync(file, ' \n')
  t.match(await logged(2), { level: 'error', problems: [/svc\.yaml: the file is empty$/] })
  writeFileSync(file, named('Two'))
  t.match(await logged(3), { level: 'info', changed: ['app.name'] })
  t.equal(config.current().app.name, 'Two')
  t.equal(lines.length, 3)
})

t.test(
  'queues reloads while another is being recorded, waits for them on close, and survives a failed record',
  async (t) => {
    const file = join(temporaryDirectory(t), 'svc.yaml')
    writeFileSync(file, named('One'))
    const noted: string[] = []
    const { reloader, config, lines } = reloading(t, file, async ({ app }) => {
      await turn()
      if (app.name === 'Two') throw new Error('the database is away')
      noted.push(app.name)
    })
    for (const name of ['Two', 'Three', 'Four']) {
      writeFileSync(file, named(name))
      reloader.reload()
      t.equal(config.current().app.name, name, 'active immediately')
    }
    await reloader.close()
    t.same(noted, ['Three', 'Four'], 'in order, and close waits for the last')
    t.match(lines.find(({ level }) => level === 'warn')?.msg, /could not save the active configuration/)
    writeFileSync(file, named('Five'))
    reloader.reload()
    t.equal(config.current().app.name, 'Four')
    t.equal(lines.length, 4)
  },
)

t.test('notices new, changed and removed files of the directory of clients', async (t) => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'svc.yaml')
  mkdirSync(join(folder, 'clients.d'))
  writeFileSync(file, 'clients_directory: clients.d\n')
  const { reloader, config, logged } = reloading(t, file)
  reloader.start()
  const team = join(folder, 'clients.d/team.yaml')
  writeFileSync(team, 'client_id: team\ntype: public\ngrants: [device_code]\n')
  t.match(await logged(1), { level: 'info', changed: ['clients.team'] })
  writeFileSync(team, 'client_id: team\ntype: public\nname: Team\ngrants: [device_code]\n')
  t.match(await logged(2), { level: 'info', changed: ['clients.team.name'] })
  writeFileSync(team, '')
  t.match(await logged(3), { level: 'error', problems: [/team\.yaml:1: the file is empty$/] })
  t.equal(config.current().clients.length, 1)
  unlinkSync(team)
  t.match(await logged(4), { level: 'info', changed: ['clients.team'] })
  t.same(config.current().clients, [])
})

t.test('returns what a reload did', async (t) => {
  const file = join(temporaryDirectory(t), 'svc.yaml')
  writeFileSync(file, named('One'))
  const { reloader } = reloading(t, file)
  t.same(reloader.reload(), { accepted: true, changed: [], waiting: [], warnings: [] })
  writeFileSync(file, 'app: { name: Two }\nserver: { host: 127.0.0.2 }\ntheme: { texts: { nothing: x } }\n')
  t.match(reloader.reload(), {
    accepted: true,
    changed: ['app.name', 'theme.texts.nothing'],
    waiting: ['server.host'],
    warnings: [/unknown text nothing/],
  })
  writeFileSync(file, 'nonsense: 1\n')
  t.match(reloader.reload(), { accepted: false, problems: [/svc\.yaml:1: nonsense/] })
  await reloader.close()
  t.same(reloader.reload(), { accepted: false, problems: ['svc is stopping'] })
})

t.test('reads a pipe only once, and logs it', async (t) => {
  const pipe = join(temporaryDirectory(t), 'svc.yaml')
  execFileSync('mkfifo', [pipe])
  // Opening one end blocks until the other end is opened.
  const writer = spawn('sh', ['-c', `echo 'app: { name: One }' > "${pipe}"`])
  const { reloader, config, lines } = reloading(t, pipe)
  if (writer.exitCode === null) await once(writer, 'exit')
  reloader.start()
  reloader.reload()
  t.match(lines, [{ level: 'warn', msg: /svc\.yaml is not a regular file .*reload is off$/ }])
  t.equal(config.current().app.name, 'One')
})
