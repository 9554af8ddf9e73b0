import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { certificateHint } from '../../src/crypto/tls-errors.ts'
import { openPostgresqlPool } from '../../src/database/postgresql.ts'
import { connectionOptions } from '../../src/database/postgresql-client.ts'
import { testEngine } from '../support/postgresql.ts'
import { startPostgresql } from '../support/postgresql-server.ts'
import { runCli, runMain, temporaryDirectory } from '../support/process.ts'
import { Authority } from '../support/tls-proxy.ts'
import { until } from '../support/until.ts'

if (testEngine === 'postgresql') {
  const server = await startPostgresql()
  t.teardown(() => server.stop())
  const authority = new Authority(t)
  await server.offerTls(authority.issue({ host: '127.0.0.1' }))
  const [other, { root }] = [new Authority(t), authority]
  const at = (query: string, host = '127.0.0.1') => `${server.url.replace('127.0.0.1', host)}?${query}`

  /** Whether the server sees an encrypted connection; the error's message if there is none. */
  async function encrypted(url: string): Promise<boolean | string> {
    const pool = openPostgresqlPool(url, { max: 1 })
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
