// engine: none
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Running, startMain, temporaryDirectory } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'
import { smallDisk } from '../support/small-disk.ts'
import { until } from '../support/until.ts'
import { createWriters, isLongRun, Writers } from './writers.ts'

const rounds = isLongRun ? 10 : 1

async function start(t: Test, file: string) {
  const env = { DATABASE_URL: `file:${file}`, SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long' }
  const cwd = temporaryDirectory(t)
  await createWriters(env.DATABASE_URL)
  return startMain(t, { cwd, env })
}

/** Writes until the disk is full, makes room, and checks that every acknowledged write exists. */
async function fillUp(t: Test, svc: Running, { take, give }: { take(): void; give(): void }): Promise<void> {
  const writers = await Writers.signIn(svc.url)
  for (let round = 1; round <= rounds; round++) {
    const refused = () => writers.statuses.get(503) ?? 0
    writers.start(8)
    const begun = writers.acknowledged
    await until(() => writers.acknowledged > begun + 50)
    const before = refused()
    take()
    await until(() => refused() >= before + 20)
    t.equal((await sendRequest(svc.url, { url: '/health/live' })).statusCode, 200)
    t.equal(
      (await sendRequest(svc.url, { url: '/oauth/login' })).statusCode,
      200,
      'requests that write nothing succeed',
    )
    give()
    const then = writers.acknowledged
    await until(() => writers.acknowledged > then + 50)
    await writers.stop()
    await writers.check(t)
  }
  t.same(writers.flaws.slice(0, 3), [], 'every other answer is a 503 with Retry-After')
  t.notMatch(svc.stdout(), /"level":"(error|fatal)"/, 'a full disk causes no internal error')
  t.equal((await svc.stop()).code, 0)
  const again = await startMain(t, { cwd: svc.cwd, env: svc.env })
  await writers.check(t)
  t.equal((await again.stop()).code, 0)
}

t.test('recovers from a file that reaches its maximum size', async (t) => {
  const file = join(temporaryDirectory(t), 'svc.db')
  const svc = await start(t, file)
  const limit = (bytes: number | 'unlimited') =>
    execFileSync('prlimit', [`--pid=${svc.child.pid}`, `--fsize=${bytes}:unlimited`])
  await fillUp(t, svc, {
    // Far below the present sizes: a write-ahead log that just started over would fit into its own size forever.
    take: () => limit(65_536),
    give: () => limit('unlimited'),
  })
})

t.test('recovers from a full disk', async (t) => {
  const disk = smallDisk(t)
  if (disk === null)
    return void t.pass('Only root may mount a small disk; the test above limits the file instead.', { skip: true })
  const svc = await start(t, join(disk.folder, 'svc.db'))
  await fillUp(t, svc, { take: disk.fill, give: disk.empty })
})
