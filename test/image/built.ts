// npm run check:image: follows the Dockerfile without Docker and checks the requirements on an image. It installs
// everything again, so it is not part of `npm test`.
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import t, { type Test } from 'tap'
import { commandOf, instructionsOf, readDockerfile, type Stage } from '../support/dockerfile.ts'
import { findPostgresql, startPostgresql } from '../support/postgresql-server.ts'
import { freePort } from '../support/process.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { requestWithBearer, sendRequest } from '../support/remote.ts'
import { baseImage, buildStage, changeOwner, lastStage } from './build.ts'
import { canIsolate, type Running, run, start, untilReady } from './container.ts'

// `npm run check:image` runs this file without the test runner, which would set a timeout.
t.setTimeout(900_000)

const LARGEST = 250_000_000
const password = 'correct horse battery staple'

const read = (file: string) => readFileSync(resolve(import.meta.dirname, '../..', file), 'utf8')
const stages = readDockerfile(read('Dockerfile'))
const [building, last] = [stages.at(0), stages.at(-1)] as [Stage, Stage]
const root = baseImage(t)
await buildStage(root, building)
const { folder, env } = lastStage(root, last)
const data = join(folder, 'data')
const { dependencies } = readJson('package.json')
close()

t.test('is small and has only production packages', async (t) => {
  const size = filesIn(folder).reduce((sum, file) => sum + statSync(file).size, 0)
  t.ok(size <= LARGEST, `${Math.round(size / 1e6)} MB`)
  process.stderr.write(`the image adds ${Math.round(size / 1e6)} MB to its base\n`)
  for (const name of ['npm', 'prisma', 'typescript', 'tap', 'playwright-core', 'react']) {
    t.notOk(existsSync(join(folder, 'node_modules', name)), `no ${name}`)
  }
  for (const name of Object.keys(dependencies)) t.ok(existsSync(join(folder, 'node_modules', name)), name)
})

t.test('can load every part of the server, at start or later', async (t) => {
  const dist = join(folder, 'dist')
  // These run when they are loaded.
  const programs = /^(main|cli|start-\w+|run-command-\w+)\.js$/
  const parts = readdirSync(dist).filter((name) => name.endsWith('.js') && !programs.test(name))
  const external = new Set(
    parts
      .flatMap((name) => [
        ...readFileSync(join(dist, name), 'utf8').matchAll(
          /(?:\bfrom|\bimport|\bimport\(|import\.meta\.url\)\.href\)(?:\.resolve)?\()"(@?[a-z][\w./-]*)"/g,
        ),
      ])
      .map(([, name = '']) => name),
  )
  for (const name of ['libsql', 'piscina', 'mariadb', '@node-rs/argon2', '@opentelemetry/api']) {
    t.ok(external.has(name), `${name} is not bundled`)
  }
  const modules = [...parts.map((name) => `./dist/${name}`), './dist/auth/sign-in/hashing-worker.js', ...external]
  const script = `for (const name of ${JSON.stringify(modules)}) await import(name)`
  const ended = await run(['node', '--input-type=module', '--eval', script], { cwd: folder, env })
  t.strictSame(ended, { code: 0, output: '' }, `${parts.length} parts, ${external.size} packages`)
})

t.test('has the same packages for the other processor, with its native ones', async (t) => {
  const [here, other] = process.arch === 'arm64' ? ['arm64', 'x64'] : ['x64', 'arm64']
  const assemble =
    instructionsOf(building, 'RUN')
      .at(-1)
      ?.replace(/^.*(node \.dev\/image\.mjs) .*$/, '$1 other') ?? ''
  const cross = { ...root.env, PATH: `${root.at('usr/local/bin')}:${root.env.PATH}`, npm_config_cpu: other ?? '' }
  const ended = await run(['sh', '-c', assemble], { cwd: root.at('build'), env: cross })
  t.equal(ended.code, 0, assemble, { output: ended.output })
  const theirs = billOf(root.at('build/other'))
  for (const name of ['@libsql/linux', '@node-rs/argon2-linux', '@node-rs/bcrypt-linux']) {
    t.ok(
      theirs.some((part) => part.startsWith(`${name}-${other}-gnu@`)),
      `${name}-${other}-gnu`,
    )
  }
  t.strictSame(
    theirs,
    billOf(folder)
      .map((part) => part.replace(`-${here}-`, `-${other}-`))
      .sort(),
  )
})

t.test('lists exactly the installed packages in its bill of materials', async (t) => {
  const installed = filesIn(join(folder, 'node_modules'))
    .filter((file) => basename(file) === 'package.json')
    .map((file) => JSON.parse(readFileSync(file, 'utf8')))
    .filter(({ name, version }) => name !== undefined && version !== undefined)
    .map(({ name, version }) => `${name}@${version}`)
  const listed = billOf(folder)
  t.strictSame(listed, [...new Set(installed)].sort())
  for (const name of ['fastify', 'oidc-provider']) t.ok(listed.includes(`${name}@${dependencies[name]}`), name)
  const { bomFormat, metadata } = readJson('sbom.cdx.json')
  t.match([bomFormat, metadata.component], ['CycloneDX', { name: 'svc', type: 'application' }])
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot5)
  t.equal(await validator.validate(readFileSync(join(folder, 'sbom.cdx.json'), 'utf8')), null, 'it is valid')
})

t.test('runs read-only as an unprivileged user, and stops on SIGTERM', async (t) => {
  if (!canIsolate) {
    process.stderr.write('*** NOT RUN AS THE FIRST PROCESS ON A READ-ONLY ROOT: THIS MACHINE FORBIDS IT ***\n')
  }
  const settings = await configure()
  const inside = { cwd: folder, env: settings }
  const health = commandOf(instructionsOf(last, 'HEALTHCHECK')[0])
  t.match(await run(health, inside), { code: 1 }, 'not healthy before it runs')

  const svc = await boot(t, settings)
  t.strictSame(await run(health, inside), { code: 0, output: '' }, 'healthy')
  // Unverified: svc would mail a notice of the new token, and there is no mail server here.
  const create = ['svc', 'user:create', '--email=ada@example.com', '--name=Ada']
  t.match(await run(create, { ...inside, input: `${password}\n` }), { code: 0, output: '"email":"ada@example.com"' })
  t.match(await run(['svc', 'user:list'], inside), { code: 0, output: 'ada@example.com' })

  const payload = { email: 'ada@example.com', password, device_name: 'Phone' }
  const answer = await sendRequest(svc.url, { method: 'POST', url: '/svc/token', payload })
  t.equal(answer.statusCode, 200, answer.body)
  t.match(await requestWithBearer(svc.url, answer.json().token, '/api/user'), { statusCode: 200 })
  for (const path of [
    '/oauth/login?lang=de',
    '/assets/webauthn.js',
    '/assets/buttons.js',
    '/favicon.ico',
    '/openapi.json',
    '/.well-known/jwks.json',
    '/.well-known/openid-configuration',
  ]) {
    t.equal((await sendRequest(svc.url, { url: path })).statusCode, 200, path)
  }
  t.ok(existsSync(join(data, 'svc.db')), 'the database is on the volume')
  const [, backup = ''] = /docker exec svc (svc backup [\w./]+)/.exec(read('docs/backup.md')) ?? []
  t.match(await run(backup.split(' '), inside), { code: 0 }, 'a copy is made while it runs')
  const look = 'console.log(new (require("libsql"))("data/backup.db").prepare("SELECT email FROM users").all())'
  t.match(await run(['node', '--eval', look], inside), { code: 0, output: 'ada@example.com' })
  t.match(await run(['svc', 'config:reload'], inside), { code: 0 })
  const ended = await svc.stop()
  t.equal(ended.code, 0, 'SIGTERM', { output: ended.output })
  t.notMatch(ended.output, /"level":"(warn|error|fatal)"/)
})

t.test('runs on PostgreSQL and Redis', async (t) => {
  if (!findPostgresql() || !hasRedis(t)) return t.notOk(process.env.CI, 'PostgreSQL and Redis are on this machine')
  const [database, redis] = await Promise.all([startPostgresql(), startRedis(t)])
  t.teardown(database.stop)
  const svc = await boot(t, { ...(await configure()), DATABASE_URL: database.url, REDIS_URL: redis.url })
  t.match(await svc.stop(), { code: 0 })
})

/** Removes all write permissions from the image; the volume belongs to the unprivileged user. */
function close(): void {
  for (const path of [...filesIn(folder), ...foldersIn(folder)]) chmodSync(path, statSync(path).mode & ~0o222)
  mkdirSync(data, { mode: 0o700 })
  changeOwner(data)
  chmodSync(folder, 0o555)
}

/** A mounted production configuration, with the secret in a file and the port in the environment. */
async function configure(): Promise<Record<string, string>> {
  const secret = root.at('run/secrets/svc')
  const file = root.at('etc/svc/svc.yaml')
  for (const path of [secret, file]) mkdirSync(dirname(path), { recursive: true })
  writeFileSync(secret, randomBytes(32).toString('base64'))
  const settings = {
    app: { environment: 'production', url: 'https://id.example.com', secret: { file: secret } },
    server: { drain: '0s' },
    mail: { url: 'smtp://mail.example.com:587' },
  }
  writeFileSync(file, JSON.stringify(settings))
  // Only the volume is writable here. Containers have a temporary file system as well.
  return { ...env, SVC_CONFIG: file, SVC_RUN_DIR: join(data, 'run'), PORT: String(await freePort()) }
}

async function boot(t: Test, settings: Record<string, string>): Promise<Running & { url: string }> {
  const url = `http://localhost:${settings.PORT}`
  const svc = start(commandOf(instructionsOf(last, 'CMD')[0]), { cwd: folder, env: settings, writable: data })
  t.teardown(svc.kill)
  await untilReady(
    async () => (await sendRequest(url, { url: '/health/ready' }).catch(() => null))?.statusCode === 200,
    svc,
  )
  return { ...svc, url }
}

function readJson(file: string) {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'))
}

/** The `name@version` entries of a bill of materials. */
function billOf(place: string): string[] {
  const { components } = JSON.parse(readFileSync(join(place, 'sbom.cdx.json'), 'utf8'))
  return components.map((part: { name: string; version: string }) => `${part.name}@${part.version}`).sort()
}

function entriesIn(place: string) {
  return readdirSync(place, { recursive: true, withFileTypes: true })
}

function filesIn(place: string): string[] {
  return entriesIn(place)
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function foldersIn(place: string): string[] {
  return entriesIn(place)
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
}
