// engine: postgresql
// npm run check:failover runs every case, and prints how long each takes.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { migrationsFolder, readMigrations } from '../../src/platform/database/migrations.ts'
import { preparePostgresql } from '../../src/platform/database/postgresql.ts'
import { isUnavailable } from '../../src/platform/database/unavailable.ts'
import { version } from '../../src/platform/version.ts'
import { openSwitch } from '../support/networks.ts'
import { type Cluster, hasPatroni, type Node, startCluster } from '../support/patroni.ts'
import { startMain } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'
import { type SmallDisk, smallDisk } from '../support/small-disk.ts'
import { until } from '../support/until.ts'
import { createWriters, isLongRun, Writers } from './writers.ts'

/** Copies the migrations and adds others, which this version of svc accepts, so that a fault can happen between them. */
function withMore(migrations: string, folder: string): string {
  cpSync(migrations, folder, { recursive: true })
  for (let n = 1; n < 10; n++) {
    const added = join(folder, `2999010100000${n}_fault_${n}`)
    mkdirSync(added)
    writeFileSync(
      join(added, 'migration.sql'),
      `-- Oldest version: ${version}\nCREATE TABLE fault_${n} (id INTEGER);\n`,
    )
  }
  return folder
}

/** Three processes migrate an empty database, and the primary is killed meanwhile. */
async function migrate(t: Test, cluster: Cluster): Promise<void> {
  const folder = withMore(migrationsFolder('postgresql'), t.testdir())
  const all = readMigrations(folder).map(({ name }) => name)
  const applied: string[] = []
  const refused: unknown[] = []
  const first = await cluster.primary()
  const log = {
    debug: (fields: object) => {
      applied.push((fields as { migration: string }).migration)
      if (applied.length === 5) first.kill('postgresql')
    },
    info: () => {},
    warn: () => {},
  }
  // As an orchestrator does: a process that cannot start is started again.
  const start = async () => {
    await until(() =>
      preparePostgresql(cluster.url, { log, folder }).then(
        () => true,
        (error) => {
          refused.push(error)
          return false
        },
      ),
    )
  }
  await Promise.all([start(), start(), start()])
  t.ok(refused.length > 0, `${refused.length} starts failed during the failover`)
  t.same(refused.filter((error) => !isUnavailable(error)).slice(0, 3), [])
  t.equal(new Set(applied).size, applied.length, 'no migration is applied twice')
  const client = new pg.Client({ connectionString: cluster.url })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL ORDER BY migration_name',
  )
  await client.end()
  t.same(
    rows.map(({ name }) => name),
    all,
    'every migration is recorded once',
  )
  await cluster.isSynchronous()
}

/** svc on the cluster, under load. */
async function start(t: Test, cluster: Cluster) {
  const env = { DATABASE_URL: cluster.url, SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long' }
  const svc = await startMain(t, { env })
  await createWriters(cluster.url)
  return { svc, writers: await Writers.signIn(svc.url) }
}

interface Fault {
  name: string
  /** Ends the primary; the others elect a new one unless `same`. */
  begin(primary: Node, cluster: Cluster): void | Promise<void>
  /** Brings the former primary back. */
  end?(former: Node): void | Promise<void>
}

const faults: Fault[] = [
  { name: 'PostgreSQL of the primary is killed', begin: (primary) => primary.kill('postgresql') },
  {
    name: 'the machine of the primary fails',
    begin: (primary) => primary.kill('all'),
    end: (former) => former.start(),
  },
  { name: 'the primary hangs and continues', begin: (primary) => primary.freeze(), end: (former) => former.thaw() },
  { name: 'the primary loses etcd', begin: (primary) => primary.cutOff(), end: (former) => former.reconnect() },
  { name: 'an operator switches over', begin: (_, cluster) => cluster.switchOver() },
]

/** Ends the primary under load. Every acknowledged write survives. */
const survive = (t: Test, cluster: Cluster, writers: Writers, { name, begin, end }: Fault) =>
  t.test(name, async (t) => {
    await cluster.isSynchronous()
    writers.start(8)
    const before = writers.acknowledged
    await until(() => writers.acknowledged > before + 50)
    const primary = await cluster.primary()
    const began = Date.now()
    await begin(primary, cluster)
    const next = await cluster.primary(primary)
    const elected = Date.now()
    const last = writers.acknowledged
    await until(() => writers.acknowledged > last)
    const recovered = Date.now()
    t.comment(`new primary after ${elected - began} ms, svc ${recovered - elected} ms later: ${next.name}`)
    if (isLongRun) t.ok(recovered - elected <= 5_000, 'svc recovers within five seconds of the new primary')
    await until(() => writers.acknowledged > last + 50)
    await end?.(primary)
    if (isLongRun) await cluster.isWhole()
    const back = writers.acknowledged
    await until(() => writers.acknowledged > back + 50)
    await writers.stop()
    await writers.check(t)
    t.same(writers.flaws.slice(0, 3), [], 'every other answer is a 503 with Retry-After')
    t.equal(writers.unanswered, 0)
    t.comment(JSON.stringify([...writers.statuses]))
  })

t.test('loses no acknowledged write in a failover, and migrates once', async (t) => {
  if (!hasPatroni(t)) return
  const cluster = await startCluster(t)
  await migrate(t, cluster)
  const { svc, writers } = await start(t, cluster)
  for (const fault of isLongRun ? faults : faults.slice(0, 1)) await survive(t, cluster, writers, fault)
  t.equal((await sendRequest(svc.url, { url: '/health/ready' })).statusCode, 200)
  t.notMatch(svc.stdout(), /"level":"(error|fatal)"/, 'a failover causes no internal error')
})

if (isLongRun) {
  t.test('loses no acknowledged write when the network of the primary fails', async (t) => {
    const cluster = await startCluster(t, { places: openSwitch(t) })
    const { svc, writers } = await start(t, cluster)
    await survive(t, cluster, writers, {
      name: 'the network drops every packet of the primary',
      begin: (primary) => primary.cutOff(),
      end: (former) => former.reconnect(),
    })
    t.notMatch(svc.stdout(), /"level":"(error|fatal)"/, 'a partition causes no internal error')
  })

  t.test('loses no acknowledged write when the disk of the primary is full', async (t) => {
    const disks = new Map<string, SmallDisk>()
    const folderOf = (name: string) => {
      const disk = smallDisk(t, 250)
      if (disk === null) throw new Error('Only root may mount a small disk.')
      disks.set(name, disk)
      return disk.folder
    }
    const cluster = await startCluster(t, { folderOf })
    const { svc, writers } = await start(t, cluster)
    writers.start(8)
    await until(() => writers.acknowledged > 50)
    const primary = await cluster.primary()
    disks.get(primary.name)?.fill()
    // PostgreSQL refuses writes that need space, or stops, and another node becomes the primary.
    await until(async () => (writers.statuses.get(503) ?? 0) >= 20 || !(await primary.isPrimary()))
    t.equal((await sendRequest(svc.url, { url: '/health/live' })).statusCode, 200)
    disks.get(primary.name)?.empty()
    const before = writers.acknowledged
    await until(() => writers.acknowledged > before + 50)
    await writers.stop()
    await writers.check(t)
    t.comment(
      `${(await cluster.primary()) === primary ? 'the same' : 'another'} primary, ${JSON.stringify([...writers.statuses])}`,
    )
    t.same(writers.flaws.slice(0, 3), [], 'every other answer is a 503 with Retry-After')
    t.notMatch(svc.stdout(), /"level":"(error|fatal)"/, 'a full disk causes no internal error')
  })
}
