// engine: postgresql
import t, { type Test } from 'tap'
import { runIfDue } from '../../src/platform/jobs/schedule.ts'
import { buildTestApp } from '../support/app.ts'
import { day } from '../support/clock.ts'
import { createTestDatabase } from '../support/postgresql.ts'
import { type Running, runCli, startMain } from '../support/process.ts'
import { remoteBrowser, requestWithBearer, sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'

const password = 'correct horse'

interface Replicas {
  a: Running
  b: Running
  /** Runs a command beside the replicas. */
  svc(...args: string[]): Promise<void>
}

async function startReplicas(t: Test): Promise<Replicas> {
  const database = await createTestDatabase()
  t.teardown(database.drop)
  const env = {
    DATABASE_URL: database.url,
    SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long',
    SVC_URL: 'http://localhost:8000',
  }
  const [a, b] = await Promise.all([startMain(t, { env }), startMain(t, { env })])
  const svc = async (...args: string[]) => {
    const { code, stderr } = await runCli(args, { cwd: a.cwd, env, input: `${password}\n` })
    t.equal(code, 0, stderr)
  }
  await svc('user:create', '--email=ada@example.com', '--name=Ada', '--verified')
  return { a, b, svc }
}

const deviceLogin = async ({ url }: Running, secret = password) =>
  sendRequest(url, {
    method: 'POST',
    url: '/svc/token',
    payload: { email: 'ada@example.com', password: secret, device_name: 'Phone' },
  })

/** Two browsers of one person: the same cookies, each replica behind the same address. */
async function browsersOf(a: Running, b: Running) {
  const shared = { url: 'http://localhost:8000' }
  const [here, there] = [remoteBrowser(a.url, shared), remoteBrowser(b.url, shared)]
  const copy = async (from: typeof here, to: typeof here) => {
    for (const cookie of await from.jar.getCookies(shared.url)) await to.jar.setCookie(cookie, shared.url)
  }
  return { here, there, carryOver: () => copy(here, there) }
}

t.test('rejects a credential on the next request after another replica revoked it', async (t) => {
  const { a, b, svc } = await startReplicas(t)

  await t.test('a token', async (t) => {
    for (let round = 0; round < 10; round++) {
      const { token } = (await deviceLogin(a)).json()
      t.equal((await requestWithBearer(b.url, token, '/api/user')).statusCode, 200)
      t.equal((await requestWithBearer(a.url, token, '/api/tokens/current', 'DELETE')).statusCode, 200)
      t.equal((await requestWithBearer(b.url, token, '/api/user')).statusCode, 401)
    }
  })

  await t.test('a session', async (t) => {
    for (let round = 0; round < 5; round++) {
      const { here, there, carryOver } = await browsersOf(a, b)
      t.equal((await here.signIn('ada@example.com', password, { remember: round % 2 === 1 })).statusCode, 200)
      await carryOver()
      t.equal((await there.get('/api/user')).statusCode, 200)
      t.equal((await here.post('/logout')).statusCode, 200)
      t.equal((await there.get('/api/user')).statusCode, 401, `round ${round}`)
    }
  })

  await t.test('a user', async (t) => {
    const { token } = (await deviceLogin(a)).json()
    const { here, there, carryOver } = await browsersOf(a, b)
    await here.signIn('ada@example.com', password, { remember: true })
    await carryOver()
    const all = async () => [
      (await requestWithBearer(a.url, token, '/api/user')).statusCode,
      (await requestWithBearer(b.url, token, '/api/user')).statusCode,
      (await here.get('/api/user')).statusCode,
      (await there.get('/api/user')).statusCode,
    ]
    t.same(await all(), [200, 200, 200, 200])
    await svc('user:update', '--email=ada@example.com', '--disable')
    t.same(await all(), [401, 401, 401, 401])
    t.equal((await deviceLogin(b)).statusCode, 422, 'nor does the password help')
    await svc('user:update', '--email=ada@example.com', '--enable')
    t.same(await all(), [401, 401, 401, 401], 'enabling the account restores nothing')
    t.equal((await deviceLogin(b)).statusCode, 200)
  })
})

t.test('counts failed logins at both replicas together', async (t) => {
  const { a, b } = await startReplicas(t)
  const statuses: number[] = []
  for (const replica of [a, b, a, b, a]) statuses.push((await deviceLogin(replica, 'wrong')).statusCode)
  t.same(statuses, [422, 422, 422, 422, 422])
  for (const replica of [a, b]) {
    const refused = await deviceLogin(replica)
    t.equal(refused.statusCode, 429)
    t.ok(Number(refused.headers['retry-after']) > 0)
  }
})

t.test('limits concurrent guesses at both replicas', async (t) => {
  const { a, b } = await startReplicas(t)
  const guesses = Array.from({ length: 30 }, (_, n) => deviceLogin(n % 2 ? a : b, `wrong ${n}`))
  const statuses = (await Promise.all(guesses)).map((answer) => answer.statusCode)
  t.equal(statuses.filter((status) => status === 422).length, 5, 'as many as one replica allows')
  t.equal(statuses.filter((status) => status === 429).length, 25)
})

t.test('runs the daily jobs on one of several replicas', async (t) => {
  const one = await buildTestApp(t)
  const others = await Promise.all([1, 2, 3].map(() => buildTestApp(t, { database: one.where, clock: one.clock })))
  const apps = [one, ...others].map(({ app }) => app)
  let runs = 0
  const job = {
    name: 'a-job',
    every: day,
    run: async () => {
      runs++
    },
  }
  const lookAtOnce = async () => {
    runs = 0
    await Promise.all(apps.flatMap((app) => [runIfDue(app, job), runIfDue(app, job)]))
    return runs
  }
  t.equal(await lookAtOnce(), 0, 'a new job waits for its time')
  for (let today = 0; today < 5; today++) {
    one.clock.advance(day)
    t.equal(await lookAtOnce(), 1, `day ${today}`)
    t.equal(await lookAtOnce(), 0, 'and not twice a day')
  }
  t.equal(await one.database.prisma.job.count({ where: { name: 'a-job' } }), 1)
})

t.test('runs overdue daily pruning on a replica that starts', async (t) => {
  const first = await buildTestApp(t)
  const user = await first.createUser()
  await first.createToken(user, { expiresAt: new Date(first.clock.now() + 1) })
  const left = () => first.database.prisma.personalAccessToken.count()
  // The first process notes its start in the background.
  await until(async () => (await first.database.prisma.job.count({ where: { name: 'prune-expired' } })) === 1)
  first.clock.advance(2 * day)
  t.equal(await left(), 1)
  await buildTestApp(t, { database: first.where, clock: first.clock })
  await until(async () => (await left()) === 0)
  t.equal(await left(), 0)
})
