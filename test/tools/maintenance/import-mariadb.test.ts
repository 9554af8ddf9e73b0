// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openSource } from '../../../src/tools/maintenance/laravel/source/open.ts'
import { buildTestApp } from '../../support/app.ts'
import { hasMariadb, startMariadb } from '../../support/mariadb-server.ts'
import { runCli, temporaryDirectory } from '../../support/process.ts'
import { codeAt } from '../../support/totp.ts'
import { appKey, encrypted, insert, password, schema, tokenRow, userRow } from './laravel-app.ts'

const secret = 'JBSWY3DPEHPK3PXP'

if (hasMariadb(t)) {
  t.test('imports users of Laravel from MariaDB', async (t) => {
    const svc = await buildTestApp(t)
    const server = await startMariadb(t)
    await server.run(
      "CREATE DATABASE app CHARACTER SET utf8mb4; USE app; CREATE USER laravel IDENTIFIED BY 'hunter2@/'",
    )
    await server.run('GRANT SELECT ON app.* TO laravel')
    for (const table of schema) await server.run(table)
    const laravel = { url: '', run: (sql: string) => server.run(sql.replaceAll('\\', '\\\\')) }
    const factor = { two_factor_secret: encrypted(secret), two_factor_confirmed_at: '2024-03-01 10:00:00' }
    await insert(laravel, 'users', userRow(7, { name: 'Zoë 😀' }))
    await insert(laravel, 'users', userRow(8, factor))
    await insert(laravel, 'personal_access_tokens', tokenRow(5, 7))
    await server.run(`INSERT INTO users (id, name, email) SELECT seq, 'User', concat('user', seq, '@example.com')
      FROM seq_100_to_349`)

    const cwd = temporaryDirectory(t)
    writeFileSync(join(cwd, 'svc.yaml'), 'app: { environment: development }')
    const [appSecret = ''] = svc.config.current().app.secret
    const env = { DATABASE_URL: svc.where.url, SVC_SECRET: appSecret, SVC_CONFIG: 'svc.yaml', LARAVEL_APP_KEY: appKey }
    const url = `mariadb://laravel@127.0.0.1:${server.port}/app`
    const wrong = await runCli(['import:laravel', url], { cwd, env: { ...env, MYSQL_PWD: 'hunter3' } })
    t.match(wrong, { code: 1, stderr: /^The source database cannot be read: .*Access denied(?!.*hunter3)/s })
    const args = ['import:laravel', url, '--apply']
    const { code, stderr, stdout } = await runCli(args, { cwd, env: { ...env, MYSQL_PWD: 'hunter2@/' } })
    t.equal(code, 0, stderr)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.match(lines, [
      { table: 'users', result: 'imported', rows: 252 },
      { table: 'personal_access_tokens', result: 'imported', rows: 1 },
    ])

    const snapshot = await openSource(url, 'hunter2@/')
    await server.run('DELETE FROM users WHERE id > 8')
    t.equal(await snapshot.count('users'), 252, 'reads one state')
    await snapshot.close()

    const user = (await svc.bearer('5|secret 5', 'GET', '/api/user')).json()
    t.match(user, { id: 7, name: 'Zoë 😀', created_at: '2024-02-29T09:08:07.000000Z' })
    t.equal((await svc.browser().signIn('user7@example.com', password)).statusCode, 200)
    const browser = svc.browser()
    t.same((await browser.signIn('user8@example.com', password)).json(), { two_factor: true })
    const code8 = codeAt(secret, svc.clock.now())
    t.equal((await browser.post('/two-factor-challenge', { code: code8 })).statusCode, 204)
  })
}
