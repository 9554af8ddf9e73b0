// engine: none
// Behind each proxy: services whose runtimes read several spellings of a header as one.
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { isAvailable } from '../support/available.ts'
import { freePort, temporaryDirectory } from '../support/process.ts'
import { until } from '../support/until.ts'
import { startProxy } from './proxies.ts'
import { findProgram } from './tools.ts'
import { eachProxy, type World } from './world.ts'

const files = join(import.meta.dirname, 'services')

/** Characters of header names (RFC 9110 section 5.6.2) besides letters, digits and the hyphen. */
const odd = [..."_.!#$%&'*+^`|~"]

/** Starts a program that serves HTTP on the port. */
async function start(t: Test, port: number, program: string, args: string[], cwd: string): Promise<void> {
  const child = spawn(findProgram(program) ?? program, args, {
    cwd,
    stdio: 'ignore',
    env: { ...process.env, HOME: cwd },
  })
  const ended = new Promise<void>((done) => child.once('close', () => done()))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until(
    () =>
      new Promise<boolean>((done) => {
        const probe = connect(port, '127.0.0.1')
        probe.once('connect', () => done(true)).once('error', () => done(false))
        probe.once('connect', () => probe.destroy())
      }),
  )
}

/** Starts the services, and returns their ports. */
async function startServices(t: Test): Promise<Record<string, number>> {
  const folder = temporaryDirectory(t)
  copyFileSync(join(files, 'index.php'), join(folder, 'index.php'))
  const [builtIn, fastCgi, caddy, wsgi] = [await freePort(), await freePort(), await freePort(), await freePort()]
  await start(t, builtIn, 'php', ['-S', `127.0.0.1:${builtIn}`, 'index.php'], folder)
  await start(t, fastCgi, 'php-cgi', ['-b', `127.0.0.1:${fastCgi}`], folder)
  const site = join(folder, 'Caddyfile')
  const lines = [
    '{',
    'admin off',
    'auto_https off',
    '}',
    `http://127.0.0.1:${caddy}, http://api.example.com:${caddy} {`,
  ]
  writeFileSync(site, [...lines, `root * ${folder}`, `php_fastcgi 127.0.0.1:${fastCgi}`, '}', ''].join('\n'))
  mkdirSync(join(folder, 'data'))
  await start(t, caddy, 'caddy', ['run', '--adapter', 'caddyfile', '--config', site], folder)
  await start(t, wsgi, 'python3', [join(files, 'wsgi.py'), String(wsgi)], folder)
  return { 'built-in server of PHP': builtIn, 'PHP by FastCGI': caddy, 'Python WSGI': wsgi }
}

/** A relay in front of the services, so that one proxy can lead to each of them. */
async function startRelay(t: Test) {
  const relay = { port: await freePort(), target: Object.values(services)[0] ?? 0 }
  const server = createServer((near) => {
    const far = connect(relay.target, '127.0.0.1')
    near.pipe(far).pipe(near)
    for (const socket of [near, far]) socket.on('error', () => [near, far].map((each) => each.destroy()))
  })
  await new Promise<void>((done) => server.listen(relay.port, '127.0.0.1', done))
  t.teardown(() => server.close())
  return relay
}

const missing = ['php', 'php-cgi', 'python3'].filter((program) => spawnSync(program, ['--version']).status !== 0)
const isInstalled = isAvailable(
  t,
  missing.length === 0,
  `not installed: ${missing.join(', ')} (services were not tested)`,
)
const services = isInstalled ? await startServices(t) : {}
const relay = await startRelay(t)

/** The variables about the caller and the request that the service sees. */
async function variablesOf({ send }: World, port: number, headers: string[]): Promise<Record<string, string> | null> {
  const { status, body } = await send(port, { target: '/public/x', headers })
  if (status !== 200) return null
  return JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1))
}

if (isInstalled) {
  eachProxy('sends services no header that they read as an identity header', async (t, world, _port, name) => {
    const port = await startProxy(t, name, { ...world.places, service: relay.port })
    for (const [service, target] of Object.entries(services)) {
      relay.target = target
      const plain = await variablesOf(world, port, ['X-Plain: yes'])
      t.match(plain, { HTTP_X_PLAIN: 'yes' }, `${service} answers`)
      for (const sign of odd) {
        const names = ['Remote-User', 'Svc-User-Id', 'X-Forwarded-Uri', 'X-HTTP-Method-Override', 'X-Plain']
        for (const each of names) {
          const spelling = each.replaceAll('-', sign)
          const variables = await variablesOf(world, port, [`${spelling}: forged`])
          t.notMatch(JSON.stringify(variables), 'forged', `${spelling} to ${service}`)
        }
      }
    }
  })
}
