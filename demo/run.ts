// npm run demo: starts svc with everything around it on this machine, and prints the address of a page that says what to try.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type DemoUser, serveStartPage } from './start-page.ts'

const root = resolve(import.meta.dirname, '..')
const ada: DemoUser = { name: 'Ada Lovelace', email: 'ada@acme.example', password: 'correct horse' }
const grace: DemoUser = { name: 'Grace Hopper', email: 'grace@partner.example', password: 'battery staple' }
const ports = {
  'the start page': 4000,
  mails: 1025,
  svc: 8000,
  'its guard': 8001,
  'Partner Ltd': 8010,
  'the API': 3000,
  'the shop': 5173,
  Reports: 5180,
}

const children = new Set<ChildProcess>()
const folders: string[] = []
let isStopping = false

/** Stops everything and deletes the data. */
async function stop(code: number): Promise<never> {
  isStopping = true
  const ended = [...children].map((child) => new Promise((done) => child.once('exit', done)))
  // On SIGTERM, svc would serve requests for another five seconds.
  for (const child of children) child.kill('SIGINT')
  await Promise.race([Promise.all(ended), wait(10_000)])
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  process.exit(code)
}

function fail(message: string): Promise<never> {
  process.stderr.write(`${message}\n`)
  return stop(1)
}

/** Runs a program until the demo ends. */
function start(name: string, args: readonly string[], env: Record<string, string> = {}): void {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  children.add(child)
  child.once('exit', (code) => {
    children.delete(child)
    if (!isStopping) void fail(`${name} ended with code ${code}.`)
  })
}

/** Starts svc with a configuration, a database of its own and a user. */
async function startSvc(name: string, file: string, { name: fullName, email, password }: DemoUser): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-demo-'))
  folders.push(folder)
  const env = {
    SVC_CONFIG: join(import.meta.dirname, file),
    DATABASE_URL: `file:${join(folder, 'svc.db')}`,
  }
  const words = ['src/cli.ts', 'user:create', `--email=${email}`, `--name=${fullName}`, '--verified']
  const created = spawnSync(process.execPath, words, {
    cwd: root,
    env: { ...process.env, ...env },
    input: `${password}\n`,
  })
  if (created.status !== 0) await fail(`${name}: ${created.stderr}`)
  start(name, ['src/main.ts'], env)
}

async function answers(url: string): Promise<void> {
  const end = Date.now() + 60_000
  while (Date.now() < end && !isStopping) {
    const answer = await fetch(url).catch(() => null)
    if (answer?.ok) return
    await wait(100)
  }
  await fail(`${url} does not answer.`)
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(false))
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => done(true)))
  })

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void stop(0))

for (const [name, port] of Object.entries(ports))
  if (!(await isFree(port)))
    await fail(`Port ${port} is in use, but ${name} needs it. Stop the program that listens there.`)
for (const name of ['client', 'guard']) {
  const built = spawnSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', `packages/${name}/tsconfig.build.json`],
    { cwd: root, stdio: 'inherit' },
  )
  if (built.status !== 0) await fail(`@svc/${name} could not be built.`)
}
await serveStartPage(ada, grace)
await startSvc('svc', 'svc.yaml', ada)
await startSvc('Partner Ltd', 'partner.yaml', grace)
await Promise.all([answers('http://localhost:8000/health/ready'), answers('http://127.0.0.1:8010/health/ready')])
start('the API', ['demo/shop/api.js'])
start('the shop', ['demo/shop/gateway.js'])
start('Reports', ['demo/reports/server.js'])
await Promise.all([answers('http://localhost:5173'), answers('http://localhost:5180')])
process.stdout.write('\nThe demo runs. Open http://localhost:4000 and try it. Ctrl+C stops it.\n')
