// lane: all
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { createTestDatabase } from '../support/postgresql.ts'
import { freePort, runCli, temporaryDirectory } from '../support/process.ts'
import { until } from '../support/until.ts'

const root = resolve(import.meta.dirname, '../..')

/** Runs a command at a pseudo terminal, and passes signals on. */
const terminal = `
import os, pty, signal, sys
child, master = pty.fork()
if child == 0: os.execvp(sys.argv[1], sys.argv[1:])
signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
while True:
    try: data = os.read(master, 65536)
    except OSError: break
    if not data: break
    os.write(1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
`

function collected(child: ChildProcess): { text: () => string; ended: Promise<number | null> } {
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  return { text: () => output.replaceAll('\r\n', '\n'), ended: new Promise((done) => child.once('close', done)) }
}

/** Starts svc at a terminal. */
async function atTerminal(t: Test, cwd: string, env: Record<string, string>) {
  const command = ['-c', terminal, process.execPath, join(root, 'src/main.ts')]
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('python3', command, { cwd, env: { PATH, HOME, PORT: String(await freePort()), ...env } })
  const { text, ended } = collected(child)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until(() => text().includes('is ready at') || text().includes('"msg":"listening') || child.exitCode !== null)
  const stop = async () => {
    child.kill('SIGTERM')
    return ended
  }
  return { text, stop }
}

t.test('prints readable lines at a terminal, and advice until there is a user', async (t) => {
  const database = await createTestDatabase({ bare: true })
  t.teardown(database.drop)
  const cwd = temporaryDirectory(t)
  const env = { DATABASE_URL: database.url, SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long' }
  const first = await atTerminal(t, cwd, env)
  await until(() => first.text().includes('--verified'))
  t.equal(await first.stop(), 0)
  const lines = first.text().split('\n')
  t.notMatch(first.text(), /^\{/m, 'no JSON')
  t.equal(lines.filter((line) => /migration/.test(line)).length, 1, first.text())
  t.match(first.text(), /^\[\d\d:\d\d:\d\d\] INFO: migrations applied \{"migrations":\d+,"last":"\w+"\}$/m)
  t.match(first.text(), /^\[\d\d:\d\d:\d\d\] INFO: listening on http:/m)
  t.match(lines.filter((line) => line !== '').at(-1), /INFO: svc has stopped after [\d.]+ s \{"ms":\d+\}$/)

  const create = ['user:create', '--email=ada@example.com', '--name=Ada']
  t.equal((await runCli(create, { cwd, env, input: 'correct horse\n' })).code, 0)
  const second = await atTerminal(t, cwd, env)
  t.match(second.text(), 'is ready at')
  t.equal(await second.stop(), 0)
  t.notMatch(second.text(), /Create a user|migration/)
})

t.test('prints JSON where no terminal reads it, and says when it stopped', async (t) => {
  const database = await createTestDatabase({ bare: true })
  t.teardown(database.drop)
  const env = { PATH: process.env.PATH ?? '', DATABASE_URL: database.url, PORT: String(await freePort()) }
  const child = spawn(process.execPath, [join(root, 'src/main.ts')], { cwd: temporaryDirectory(t), env })
  const { text, ended } = collected(child)
  await until(() => text().includes('"listening'))
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.match(text(), /^\{"level":"info",.*"msg":"migrations applied"\}$/m)
  t.match(text().trimEnd().split('\n').at(-1), /"msg":"svc has stopped after [\d.]+ s"\}$/)
})

t.test('npm start ends with npm, and frees its port', async (t) => {
  // A copy without the dependencies' checks of a fresh clone.
  const checkout = temporaryDirectory(t)
  for (const path of ['.dev', 'config', 'prisma', 'src', 'package.json', 'package-lock.json', 'packages'])
    cpSync(join(root, path), join(checkout, path), {
      recursive: true,
      filter: (file) => !file.includes('node_modules'),
    })
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  const database = await createTestDatabase({ bare: true })
  t.teardown(database.drop)
  const port = String(await freePort())
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, PORT: port, DATABASE_URL: database.url, SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes' }
  const npm = spawn('npm', ['start'], { cwd: checkout, env, detached: true })
  const { text, ended } = collected(npm)
  t.teardown(async () => {
    if (npm.pid && npm.exitCode === null && npm.signalCode === null) process.kill(-npm.pid, 'SIGKILL')
    await ended
  })
  await until(() => text().includes('--verified'))
  const serves = () => fetch(`http://127.0.0.1:${port}/health/live`).then(Boolean, () => false)
  t.equal(await serves(), true)
  // Only npm gets the signal, as from a process manager.
  npm.kill('SIGTERM')
  await until(async () => !(await serves()))
  await ended
  t.match(text(), /"msg":"svc has stopped after/)
})
