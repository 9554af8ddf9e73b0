// engine: none
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCli, temporaryDirectory } from '../../support/process.ts'
import { Authority } from '../../support/tls-proxy.ts'
import { configOf, problemsOf, SECRET, table } from './problems.ts'

const pg = 'postgresql://u:p@db.example/svc'
table('parameters of connection URLs', [
  [`database: { url: '${pg}' }`],
  [`database: { url: '${pg}?sslmode=verify-full&connect_timeout=10&application_name=a&options=-c%20x%3D1' }`],
  [`database: { url: 'postgres://u@localhost/svc?host=/run/postgresql' }`],
  [`database: { url: '${pg}?sslmod=require' }`, 'database.url', /the parameter sslmod, which svc does not know/],
  [`database: { url: '${pg}?ssl=true' }`, 'database.url', /parameters are .*sslmode, sslrootcert/],
  [`database: { url: '${pg}?schema=public' }`, 'database.url', /schema/],
  [`database: { url: '${pg}?sslmode=prefer' }`, 'database.url', /one of disable, no-verify, require/],
  [`database: { url: '${pg}?sslmode=Require' }`, 'database.url', /one of/],
  [`database: { url: '${pg}?sslmode=' }`, 'database.url', /one of/],
  [`database: { url: '${pg}?sslmode=disable&sslmode=require' }`, 'database.url', /more than once/],
  [`database: { url: '${pg}?sslmode=require&sslrootcert=/missing.pem' }`, 'database.url', /no such file/],
  [`database: { url: '${pg}?sslrootcert=package.json' }`, 'database.url', /must be a PEM file/],
  [`database: { url: '${pg}?sslmode=disable&sslkey=package.json' }`, 'database.url', /with sslmode=disable/],
  [`database: { url: '${pg}?connect_timeout=0' }`, 'database.url', /seconds from 1 to 9999/],
  [`database: { url: '${pg}?__proto__=1' }`, 'database.url', /__proto__/],
  [`database: { url: '${pg}/other' }`, 'database.url', /the name of the database/],
  [`database: { url: '${pg}#x' }`, 'database.url', /%23/],
  ["redis: { url: 'redis://cache/1' }"],
  ["redis: { url: 'rediss://:p@cache:6380' }"],
  ["redis: { url: 'redis://cache?family=6' }", 'redis.url', /family, which svc does not know\. It has none/],
  ["redis: { url: 'redis://cache/one' }", 'redis.url', /the number of the database/],
  ["redis: { url: 'redis://cache', sentinel_password: x }", 'redis.sentinel_password', /requires redis\.sentinels/],
  ["mail: { url: 'smtp://mail.example/' }"],
  ["mail: { url: 'smtp://mail.example?ignoreTLS=true' }", 'mail.url', /ignoreTLS, which svc does not know/],
  ["mail: { url: 'smtps://mail.example/inbox' }", 'mail.url', /nothing after the host and port/],
  ["mail: { url: 'smtps://mail.example', tls: none }", 'mail.tls', /must not be none with smtps:/],
  ["mail: { url: 'smtp://mail.example', tls: starttls }", 'mail.tls'],
  ['mail: { ca_file: /missing.pem }', 'mail.ca_file', /readable file \(no such file\)/],
  ['mail: { ca_file: /etc/hosts }', 'mail.ca_file', /PEM file with certificates \(found "\/etc\/hosts"\)/],
])

t.test('a message never repeats a value, which may be the rest of a password', async (t) => {
  for (const url of ['smtp://u:12?hidden@x', 'redis://u:12?hidden@x=y', `${pg}?sslmode=hidden`, 'redis://x/hidden'])
    for (const section of ['database', 'redis', 'mail'])
      t.notMatch(JSON.stringify(problemsOf(`${section}: { url: '${url}' }`)), /hidden/, url)
})

t.test('production requires STARTTLS, except from a server on loopback', async (t) => {
  const production = `app: { url: https://auth.example.com, environment: production, secret: ${SECRET} }`
  const tlsOf = (text: string) => configOf(text).mail.tls
  t.equal(tlsOf(`${production}\nmail: { url: 'smtp://mail.example' }`), 'required')
  t.equal(tlsOf(`${production}\nmail: { url: 'smtp://127.0.0.1:25' }`), 'opportunistic')
  t.equal(tlsOf(`${production}\nmail: { url: 'smtp://mail.example', tls: none }`), 'none')
  t.equal(tlsOf("mail: { url: 'smtp://mail.example' }"), 'opportunistic')
  t.equal(tlsOf(''), 'opportunistic')
})

t.test('a file of authorities is relative to the working directory', async (t) => {
  const cwd = temporaryDirectory(t)
  copyFileSync(new Authority(t).root, join(cwd, 'ca.pem'))
  t.equal(configOf('mail: { ca_file: ca.pem }', {}, cwd).mail.ca_file, join(cwd, 'ca.pem'))
})

t.test('commands reject unknown parameters of a database too', async (t) => {
  const cwd = temporaryDirectory(t)
  const commands = [
    ['db:copy', 'file:missing.db', `${pg}?sslmod=require`, /<to> has the parameter sslmod/],
    [
      'import:laravel',
      'mariadb://u@db.example/app?sll=true',
      /<from> has the parameter sll.*\. Its parameters are ssl\b/,
    ],
  ] as const
  for (const command of commands) {
    const words = command.filter((word) => typeof word === 'string')
    t.match((await runCli(words, { cwd })).stderr, command.at(-1), String(words[0]))
  }
})
