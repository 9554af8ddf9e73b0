import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import Sqlite from 'libsql'
import pg from 'pg'
import t from 'tap'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { openPostgresqlPool } from '../../../src/platform/database/postgresql.ts'
import { isUnavailable } from '../../../src/platform/database/unavailable.ts'
import { Dependency } from '../../../src/platform/dependencies.ts'
import { createTestDatabase, testEngine } from '../../support/postgresql.ts'
import { startPostgresql } from '../../support/postgresql-server.ts'
import { until } from '../../support/until.ts'

const caught = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

t.test('distinguishes programming errors from outages', async (t) => {
  const place = await createTestDatabase()
  const database = await openDatabase({ engine: testEngine, url: place.url })
  t.teardown(async () => {
    await database.close()
    await place.drop()
  })
  const mistakes = [
    () => database.prisma.$queryRawUnsafe('SELECT nonsense FROM nowhere'),
    () =>
      database.prisma.sampleTask.update({
        where: { id: 1n },
        data: { title: 'x' },
      }),
    () => database.transaction(() => Promise.reject(new Error('ours'))),
  ]
  for (const mistake of mistakes) {
    const error = await caught(mistake())
    t.ok(error)
    t.notOk(isUnavailable(error))
  }
  for (const error of [undefined, null, 'text', new Error('x'), { code: 7 }, { code: 'P2002' }])
    t.notOk(isUnavailable(error))
  const late = database.prisma.$transaction(
    async (tx) => {
      for (;;) {
        await tx.sampleTask.count()
        await turn()
      }
    },
    { timeout: 50 },
  )
  t.ok(isUnavailable(await caught(late)), 'a transaction that took too long counts as an outage')
})

if (testEngine === 'postgresql') {
  t.test('recovers when a server disappears and returns', async (t) => {
    const server = await startPostgresql()
    const database = await openDatabase({
      engine: 'postgresql',
      url: server.url,
    })
    t.teardown(() => database.close())
    await database.ping()

    const during = caught(database.prisma.$queryRaw`SELECT pg_sleep(600)::text`)
    const open = Promise.withResolvers<void>()
    const cut = Promise.withResolvers<void>()
    const inside = caught(
      database.transaction(async (tx) => {
        await tx.sampleTask.count()
        open.resolve()
        await cut.promise
        await tx.sampleTask.create({ data: { title: 'lost' } })
      }),
    )
    await open.promise
    const admin = new pg.Client({ connectionString: server.url })
    await admin.connect()
    const running = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(600)%'"
    await until(async () => (await admin.query(`${running} AND pid <> pg_backend_pid()`)).rows.length > 0)
    // The administrator command ends each connection with a specific error.
    await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
    await admin.end()
    cut.resolve()
    t.ok(isUnavailable(await during), 'a running query')
    t.ok(isUnavailable(await inside), 'an open transaction')
    await database.ping()
    t.equal(await database.prisma.sampleTask.count(), 0)

    await server.stop()
    for (const work of [
      () => database.ping(),
      () => database.prisma.user.findMany(),
      () => database.transaction((tx) => tx.user.findMany()),
      () => openDatabase({ engine: 'postgresql', url: server.url }),
    ]) {
      const error = await caught(work())
      t.ok(error)
      t.ok(isUnavailable(error), String(error))
    }
  })

  t.test('closes a connection that is used too long, with its transaction', async (t) => {
    const place = await createTestDatabase()
    const pool = openPostgresqlPool(() => place.url, { max: 1, maxUse: 1_500 })
    const held = await pool.connect()
    held.on('error', () => undefined)
    await held.query('BEGIN')
    const { rows: before } = await held.query('SELECT pg_backend_pid() AS pid')
    t.ok(isUnavailable(await caught(held.query('SELECT pg_sleep(60)'))))
    held.release()
    const after = await pool.query('SELECT pg_backend_pid() AS pid, now() = statement_timestamp() AS alone')
    t.not(after.rows[0].pid, before[0].pid)
    t.equal(after.rows[0].alone, true, 'later queries are in no foreign transaction')
    for (let uses = 0; uses < 5; uses++) await pool.query('SELECT pg_sleep(0.4)')
    t.equal(
      (await pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid,
      after.rows[0].pid,
      'the time starts again with each use',
    )
    await pool.end()
    await place.drop()
  })

  t.test('does not connect to a standby', async (t) => {
    const server = await startPostgresql()
    t.teardown(server.stop)
    const database = await openDatabase({ engine: 'postgresql', url: server.url })
    t.teardown(() => database.close())
    await database.ping()
    await server.halt()
    server.demote()
    await server.restart()
    for (const work of [() => database.ping(), () => database.transaction((tx) => tx.sampleTask.count())]) {
      const error = await caught(work())
      t.ok(isUnavailable(error), String(error))
      t.match(String(error), /standby/)
    }
    const admin = new pg.Client({ connectionString: server.url })
    await admin.connect()
    await admin.query('SELECT pg_promote()')
    await admin.end()
    t.equal(await database.prisma.sampleTask.count(), 0)
  })

  t.test('closes a connection whose server accepts no writes', async (t) => {
    const place = await createTestDatabase()
    const pool = openPostgresqlPool(() => place.url, { max: 1 })
    await pool.query('SET default_transaction_read_only = on')
    t.ok(isUnavailable(await caught(pool.query('CREATE TABLE written ()'))))
    await t.resolves(pool.query('CREATE TABLE written ()'), 'the next connection may reach another server')
    await pool.end()
    await place.drop()
  })

  t.test('reports an exhausted pool', async (t) => {
    const place = await createTestDatabase()
    const pool = openPostgresqlPool(() => place.url, { max: 1 })
    const held = await pool.connect()
    pool.options.connectionTimeoutMillis = 100
    t.ok(isUnavailable(await caught(pool.query('SELECT 1'))))
    held.release()
    await pool.end()
    t.ok(isUnavailable(await caught(pool.query('SELECT 1'))), 'a closed pool')
    await place.drop()
  })

  t.test('waits as long for a connection as the URL says, and for five seconds by default', async (t) => {
    const timeouts = {
      '': 5_000,
      '?connect_timeout=20': 20_000,
    }
    for (const [query, timeout] of Object.entries(timeouts)) {
      const pool = openPostgresqlPool(() => `postgresql://svc@localhost/svc${query}`)
      t.equal(pool.options.connectionTimeoutMillis, timeout, query)
      await pool.end()
    }
  })
} else {
  t.test('reports an unusable file', async (t) => {
    const place = await createTestDatabase()
    const database = await openDatabase({ engine: 'sqlite', url: place.url })
    const other = new Sqlite(place.file ?? '')
    other.exec('BEGIN EXCLUSIVE')
    const write = await caught(database.transaction((tx) => tx.sampleTask.create({ data: { title: 'x' } })))
    t.ok(isUnavailable(write), 'locked by another process')
    other.exec('ROLLBACK')
    other.close()
    await database.prisma.sampleTask.create({ data: { title: 'x' } })
    await database.close()
    t.ok(
      isUnavailable(
        Object.assign(new Error('disk I/O error'), {
          code: 'SQLITE_IOERR_WRITE',
          rawCode: 778,
        }),
      ),
    )
    await place.drop()
  })
}

if (testEngine === 'postgresql') {
  t.test('refuses requests at once during an outage while as many as there are connections wait', async (t) => {
    const sockets = new Set<Socket>()
    const silent = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1')
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
      silent.close()
    })
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const lines: string[] = []
    const log = {
      info: (_: object, text: string) => lines.push(text),
      warn: (_: object, text: string) => lines.push(text),
    }
    const state = new Dependency('database', log)
    const pool = openPostgresqlPool(() => `postgresql://svc@127.0.0.1:${port}/svc?connect_timeout=1`, { max: 2, state })
    t.teardown(() => pool.end())
    // Until the outage is known, requests wait: it may be a short failover.
    const first = await Promise.all(Array.from({ length: 6 }, () => caught(pool.query('SELECT 1'))))
    for (const error of first) t.ok(isUnavailable(error), String(error))
    t.equal(lines.length, 1)
    t.match(lines[0], /^database does not work: .*timeout/)
    const waiting = [caught(pool.query('SELECT 1')), caught(pool.query('SELECT 1'))]
    let isOneTurn = true
    const nextTurn = setImmediate(() => {
      isOneTurn = false
    })
    const refused = await caught(pool.query('SELECT 1'))
    t.ok(isOneTurn, 'the third one does not wait')
    clearImmediate(nextTurn)
    t.match(refused, { message: 'the database does not work, and other requests wait for it' })
    t.ok(isUnavailable(refused))
    await Promise.all(waiting)
    t.equal(lines.length, 1)
  })

  t.test('waits for a server that starts, and not for one that refuses the password', async (t) => {
    const server = await startPostgresql()
    await server.halt()
    const opening = openDatabase({ engine: 'postgresql', url: server.url, patience: 60_000 })
    await server.restart()
    const database = await opening
    await database.ping()
    await database.close()
    const missing = new URL(server.url)
    missing.pathname = '/missing'
    await t.rejects(openDatabase({ engine: 'postgresql', url: missing.href, patience: 60_000 }), /does not exist/)
    await server.stop()
    await t.rejects(openDatabase({ engine: 'postgresql', url: server.url, patience: 600 }), /ECONNREFUSED/)
  })
}
