// npm run check:upgrade [-- <version>]: upgrades a server from an earlier version in Git, by default the latest release, to this
// one, as a cluster does, on PostgreSQL. It installs the packages of the earlier version, so it is not part of `npm test`.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { registration } from '../support/accounts.ts'
import { Balancer } from '../support/balancer.ts'
import type { Browser } from '../support/browser.ts'
import { startPostgresql } from '../support/postgresql-server.ts'
import { freePort, runCli, startMain, temporaryDirectory } from '../support/process.ts'
import { remoteBrowser, requestWithBearer, sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'

t.setTimeout(900_000)

const root = resolve(import.meta.dirname, '../..')
const [version = latestRelease()] = process.argv.slice(2)
const email = 'ada@example.com'
const { password } = registration(email)
const [clientId, clientSecret] = ['robot', randomBytes(24).toString('base64url')]
const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`

/** The tag of the latest release before this commit. */
function latestRelease(): string {
  const args = ['describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^']
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (status === 0) return stdout.trim()
  process.stderr.write('No release precedes this commit. Name a commit: npm run check:upgrade -- <commit>\n')
  process.exit(2)
}

interface Server {
  port: number
  output(): string
  stop(): Promise<unknown>
}

/** Unpacks a version from Git, and returns a function that starts it. */
function unpack(t: Test, env: Record<string, string>): () => Promise<Server> {
  const folder = temporaryDirectory(t)
  const archive = execFileSync('git', ['archive', version], { cwd: root, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  execFileSync('node', ['.dev/prepare.mjs'], { cwd: folder, stdio: 'ignore' })
  return async () => {
    const port = await freePort()
    const child = spawn(process.execPath, [join(folder, 'src/main.ts')], {
      cwd: env.HOME,
      env: { ...env, PORT: String(port) },
    })
    t.teardown(() => child.kill('SIGKILL'))
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
    const ended = new Promise((done) => child.once('close', done))
    await until(() => /listening on/.test(text) || child.exitCode !== null)
    const stop = () => {
      child.kill('SIGTERM')
      return ended
    }
    return { port, output: () => text, stop }
  }
}

/** Credentials of one user, issued by whichever server answers. */
interface Credentials {
  browser: Browser
  token: string
  refreshToken: string
  accessToken: string
}

const tokenRequest = (url: string, form: Record<string, string>) =>
  sendRequest(url, {
    method: 'POST',
    url: '/oauth/token',
    headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form).toString(),
  })

async function issue(url: string): Promise<Credentials> {
  const browser = remoteBrowser(url, { origin: url })
  const signedIn = await browser.signIn(email, password)
  const issued = await sendRequest(url, {
    method: 'POST',
    url: '/svc/token',
    payload: { email, password, device_name: 'Phone' },
  })
  const form = { grant_type: 'password', username: email, password, scope: 'offline_access' }
  const granted = await tokenRequest(url, form)
  if (signedIn.statusCode !== 200 || issued.statusCode !== 200 || granted.statusCode !== 200)
    throw new Error([signedIn, issued, granted].map(({ statusCode, body }) => `${statusCode} ${body}`).join('\n'))
  const { access_token: accessToken, refresh_token: refreshToken } = granted.json()
  return { browser, token: issued.json().token, refreshToken, accessToken }
}

/** Uses every credential several times, so that each server behind the balancer answers. */
async function use(t: Test, url: string, credentials: Credentials[], state: string): Promise<void> {
  for (const [n, each] of credentials.entries()) {
    const name = `${state}: credentials ${n + 1}`
    for (let turn = 0; turn < 3; turn++) {
      t.equal((await each.browser.get('/api/user')).statusCode, 200, `${name}, session`)
      t.equal((await requestWithBearer(url, each.token, '/api/user')).statusCode, 200, `${name}, API token`)
      t.equal((await requestWithBearer(url, each.accessToken, '/api/user')).statusCode, 200, `${name}, access token`)
      const renewed = await tokenRequest(url, { grant_type: 'refresh_token', refresh_token: each.refreshToken })
      t.equal(renewed.statusCode, 200, `${name}, refresh token`, { body: renewed.body })
      each.refreshToken = renewed.json().refresh_token
    }
  }
}

t.test(`keeps every credential through a rolling upgrade from ${version}, and back`, async (t) => {
  if (!version) throw new Error('Name the earlier version: npm run check:upgrade -- <tag or commit>')
  const database = await startPostgresql()
  t.teardown(database.stop)
  const balancer = await Balancer.start(t)
  const url = `http://localhost:${balancer.port}`
  const home = temporaryDirectory(t)
  mkdirSync(join(home, 'config'))
  const settings = {
    app: { url, environment: 'development' },
    stateful: [new URL(url).host],
    registration: { enabled: true },
    server: { drain: '2s' },
    clients: [
      {
        client_id: clientId,
        type: 'confidential',
        secret: clientSecret,
        grants: ['password', 'refresh_token'],
        first_party: true,
      },
    ],
  }
  writeFileSync(join(home, 'config/svc.yaml'), JSON.stringify(settings))
  const { PATH = '' } = process.env
  const shared = { DATABASE_URL: database.url, SVC_SECRET: randomBytes(32).toString('base64') }
  const env = { PATH, HOME: home, SVC_CONFIG: join(home, 'config/svc.yaml'), ...shared }
  const startOld = unpack(t, env)
  const startNew = () => startMain(t, { cwd: home, env })

  const old = await startOld()
  await balancer.add(old.port)
  const { code, stderr } = await runCli(['db:status'], { cwd: home, env })
  t.comment(`db:status of this version: exit code ${code} ${stderr}`)
  const guest = remoteBrowser(url, { origin: url })
  await guest.get('/svc/csrf-cookie')
  t.equal((await guest.post('/register', registration(email))).statusCode, 201)
  const credentials = [await issue(url)]
  await use(t, url, credentials, 'old version')

  const first = await startNew()
  await balancer.add(first.port)
  credentials.push(await issue(url), await issue(url))
  await use(t, url, credentials, 'both versions')
  t.equal(await old.stop(), 0)
  credentials.push(await issue(url))
  await use(t, url, credentials, 'new version')

  const back = await startOld()
  // A migration may allow earlier versions, so that a pod of one can restart during the rollout.
  const isRunning = await sendRequest(`http://localhost:${back.port}`, { url: '/health/ready' }).then(
    ({ statusCode }) => statusCode === 200,
    () => false,
  )
  if (code === 0) t.ok(isRunning, 'the old version starts where nothing was migrated')
  if (isRunning) {
    await balancer.add(back.port)
    await use(t, url, credentials, 'both versions, on the way back')
    await first.stop()
    await use(t, url, credentials, 'old version again')
  } else {
    t.match(back.output(), /migration/, 'the old version refuses the newer schema and names the migration')
    await use(t, url, credentials, 'new version, after the attempt to go back')
  }
  t.notMatch(`${old.output()}${first.stdout()}`, /"level":"(error|fatal)"/, 'no server logged an error')
})
