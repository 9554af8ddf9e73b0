import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { certificateHint } from '../../../src/platform/crypto/tls-errors.ts'
import { openPostgresqlPool } from '../../../src/platform/database/postgresql.ts'
import { connectionOptions } from '../../../src/platform/database/postgresql-client.ts'
import { testEngine } from '../../support/postgresql.ts'
import { startPostgresql } from '../../support/postgresql-server.ts'
import { runCli, runMain, temporaryDirectory } from '../../support/process.ts'
import { Authority } from '../../support/tls-proxy.ts'
import { until } from '../../support/until.ts'

if (testEngine === 'postgresql') {
  const server = await startPostgresql()
  t.teardown(() => server.stop())
  const authority = new Authority(t)
  await server.offerTls(authority.issue({ host: '127.0.0.1' }))
  const [other, { root }] = [new Authority(t), authority]
  const at = (query: string, host = '127.0.0.1') => `${server.url.replace('127.0.0.1', host)}?${query}`

  /** Whether the server sees an encrypted connection; the error's message if there is none. */
  async function encrypted(url: string): Promise<boolean | string> {
    const pool = openPostgresqlPool(() => url, { max: 1 })
    try {
      const { rows } = await pool.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
      return rows[0].ssl
    } catch (error) {
      return `${(error as Error).message} ${certificateHint(error, 'sslrootcert') ?? ''}`
    } finally {
      await pool.end()
    }
  }

  t.test('sslmode decides whether svc encrypts the connection and whom it trusts', async (t) => {
    await until(async () => (await encrypted(at('sslmode=no-verify'))) === true)
    t.equal(await encrypted(at('connect_timeout=5')), false)
    t.equal(await encrypted(at('sslmode=disable')), false)
    t.equal(await encrypted(at('sslmode=no-verify', 'localhost')), true)
    for (const mode of ['require', 'verify-ca', 'verify-full']) {
      t.equal(await encrypted(at(`sslmode=${mode}&sslrootcert=${root}`)), true, mode)
      t.match(await encrypted(at(`sslmode=${mode}`)), /svc does not trust the certificate: set sslrootcert/, mode)
      t.match(await encrypted(at(`sslmode=${mode}&sslrootcert=${other.root}`)), /does not trust/, mode)
    }
    t.equal(await encrypted(at(`sslrootcert=${root}`)), true, 'an authority alone also means verify-full')
    t.equal(await encrypted(at(`sslmode=verify-ca&sslrootcert=${root}`, 'localhost')), true)
    for (const mode of ['require', 'verify-full'])
      t.match(
        await encrypted(at(`sslmode=${mode}&sslrootcert=${root}`, 'localhost')),
        /Use a host name that the certificate has/,
      )
  })

  t.test('the doctor and the start say how to fix a certificate that svc does not trust', async (t) => {
    const cwd = temporaryDirectory(t)
    const env = { SVC_CONFIG: 'svc.yaml', DATABASE_URL: at('sslmode=require') }
    writeFileSync(join(cwd, 'svc.yaml'), '')
    const hint = /The database cannot be used: .*certificate.*set sslrootcert in database\.url/
    t.match((await runCli(['doctor', '--config=svc.yaml'], { cwd, env })).stdout, hint)
    t.match((await runMain(t, { cwd, env })).stderr, hint)
  })
}

t.test('the driver gets no parameter about TLS that it reads in its own way', async (t) => {
  const url = 'postgresql://u:p%3F%40@db.example/svc?sslmode=require&application_name=x&connect_timeout=7'
  t.match(connectionOptions(url), {
    connectionString: 'postgresql://u:p%3F%40@db.example/svc?application_name=x',
    connectionTimeoutMillis: 7_000,
    ssl: {},
  })
  t.equal(connectionOptions('postgresql://db.example/svc').ssl, false)
})

if (testEngine === 'postgresql') {
  t.test('says in one sentence why it cannot connect, and what to change', async (t) => {
    const server = await startPostgresql()
    t.teardown(() => server.stop())
    const admin = new pg.Client({ connectionString: server.url })
    await admin.connect()
    await admin.query("CREATE ROLE ada LOGIN PASSWORD 'a secret'")
    const { rows } = await admin.query('SHOW hba_file')
    const as = (user: string, query = '') => `postgresql://${user}@127.0.0.1:${server.port}/postgres${query}`
    const requirePassword = async (kind: string) => {
      const rules = `${kind} all ada all scram-sha-256\nhost all postgres all trust\n`
      writeFileSync(rows[0].hba_file, rules)
      await admin.query('SELECT pg_reload_conf()')
    }
    const cases = [
      ['host', as('ada'), /database\.url has no password, and the server asks for one\./],
      ['host', as('ada:wrong'), /password authentication failed/],
      [
        'host',
        as('ada:a%20secret', '?sslmode=require'),
        /The server offers no TLS: turn it on there, or use sslmode=disable/,
      ],
      [
        'hostssl',
        as('ada:a%20secret'),
        /no encryption.*The server requires TLS: add sslmode=verify-full to database\.url/,
      ],
      ['host', as('ada:100%'), /DATABASE_URL: has a % without two hexadecimal digits after it; write it as %25/],
      [
        'host',
        as('ada', '?sslrootcert=/nowhere'),
        /DATABASE_URL: has the parameter sslrootcert, which must be a readable file/,
      ],
    ] as const
    const cwd = temporaryDirectory(t)
    writeFileSync(join(cwd, 'svc.yaml'), '')
    for (const [kind, url, message] of cases) {
      await requirePassword(kind)
      const env = { SVC_CONFIG: 'svc.yaml', DATABASE_URL: url }
      const { code, stderr } = await runMain(t, { cwd, env })
      t.equal(code === 1 || code === 78, true, url)
      t.match(stderr, message, url)
      t.equal(stderr.trim().split('\n').length, 1, stderr)
      t.notMatch(stderr, /a secret|a%20secret|100%|wrong@/)
      const doctor = await runCli(['doctor', '--config=svc.yaml'], { cwd, env })
      t.match(doctor.stdout, message, `doctor: ${url}`)
    }
    await admin.end()
  })
}
