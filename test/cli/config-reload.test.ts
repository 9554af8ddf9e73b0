// engine: none
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startWithAda } from '../support/listening.ts'
import { runCli, startMain, temporaryDirectory } from '../support/process.ts'
import { configLines, machineToken, replaceFile, robot, settingsOf } from '../support/reloading.ts'
import { until } from '../support/until.ts'

t.test('reloads the running server and prints what it did', async (t) => {
  const sockets = join(temporaryDirectory(t), 'run')
  const svc = await startWithAda(t, { SVC_RUN_DIR: sockets }, { clients: [robot('first')] })
  const reload = (...words: string[]) => runCli(['config:reload', ...words], svc)
  const settings = settingsOf(svc)
  await until(() => existsSync(sockets) && readdirSync(sockets).some((name) => name.endsWith('.sock')))
  const left = () => readdirSync(sockets).filter((name) => name.endsWith('.sock'))
  const [socket = ''] = left()
  t.equal(statSync(sockets).mode & 0o777, 0o700)
  t.equal(statSync(join(sockets, socket)).mode & 0o777, 0o600)

  t.match(await reload(), {
    code: 0,
    stdout: `svc (process ${svc.child.pid}) reloaded the configuration. No key changed.\n`,
    stderr: '',
  })

  replaceFile(svc, { ...settings, app: { url: 'http://localhost:1' }, clients: [robot('second')] })
  t.match(await reload(), { code: 0, stdout: /reloaded the configuration.*\n {2}Restart required for: app\.url\n$/ })
  t.equal((await machineToken(svc, 'second')).statusCode, 200)
  t.match(JSON.parse((await reload('--json')).stdout), {
    pid: svc.child.pid,
    accepted: true,
    changed: [],
    waiting: ['app.url'],
  })

  replaceFile(svc, 'app: { name: "\\e[31mRed" }\nnonsense: 1\n')
  const rejected = await reload()
  t.match(rejected, { code: 78, stdout: '' })
  t.match(rejected.stderr, /rejected the configuration and keeps the active one:\n {2}svc\.yaml:2: nonsense: is not a/)
  t.equal((await machineToken(svc, 'second')).statusCode, 200)
  t.match(JSON.parse((await reload('--json')).stdout), { accepted: false, problems: [/^svc\.yaml:2: nonsense/] })

  replaceFile(svc, {
    ...settings,
    app: { url: 'https://id.example.com', environment: 'development' },
    passkeys: { rp_id: 'example.com' },
  })
  t.match((await reload()).stderr, /passkeys\.rp_id: .* \(invalid without the keys that need a restart \(app\.url/)

  const before = configLines(svc).length
  const closed = new Promise<string>((resolve) => {
    let answer = ''
    const raw = connect(join(sockets, socket), () => raw.write('reload everything\n'))
    raw.on('data', (part) => {
      answer += part
    })
    raw.on('error', () => undefined)
    raw.on('close', () => resolve(answer))
  })
  t.equal(await closed, '', 'another request gets no answer')
  t.equal(configLines(svc).length, before)

  const elsewhere = await runCli(['config:reload'], { cwd: svc.cwd, env: { ...svc.env, SVC_CONFIG: 'other.yaml' } })
  t.match(elsewhere, { code: 1, stderr: /^No running server uses .*other\.yaml\. Run this command where svc runs/ })

  replaceFile(svc, settings)
  svc.child.kill('SIGKILL')
  await svc.ended
  t.same(left(), [socket], 'left over')
  t.match(await reload(), { code: 1, stderr: /^No running server/ })
  const again = await startMain(t, { cwd: svc.cwd, env: svc.env })
  await until(() => !left().includes(socket))
  t.match(await reload(), { code: 0, stdout: new RegExp(`process ${again.child.pid}\\) reloaded`) })
  t.equal((await again.stop()).code, 0)
  t.same(left(), [])
})

t.test('does not use a directory that other users can write', async (t) => {
  const sockets = join(temporaryDirectory(t), 'run')
  mkdirSync(sockets)
  chmodSync(sockets, 0o777)
  const svc = await startWithAda(t, { SVC_RUN_DIR: sockets }, { clients: [robot('first')] })
  await svc.printed(/cannot open the control socket/)
  t.same(readdirSync(sockets), [])
  t.equal((await machineToken(svc, 'first')).statusCode, 200, 'svc works without it')
  t.match(await runCli(['config:reload'], svc), {
    code: 1,
    stderr: /^The configuration was not reloaded: .*must be a directory of the user that runs svc/,
  })
})
