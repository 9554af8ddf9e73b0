// engine: none
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { parseWords } from '../../../src/cli/command-line.ts'
import { CommandError } from '../../../src/contract/command.ts'
import { parseConfig } from '../../../src/platform/config/load.ts'
import { initCommands } from '../../../src/tools/init/command.ts'
import { temporaryDirectory } from '../../support/process.ts'
import { SmtpReceiver } from '../../support/smtp.ts'

const root = resolve(import.meta.dirname, '../../..')
const mail = `--mail=file:${tmpdir()}`
const answered = ['--url=https://auth.example.com', mail, '--frontend=pages', '--admin=none']
const production = ['--yes', ...answered]

/** Runs the command with the answers that a person types; null ends them. */
async function init(words: readonly string[], answers: readonly (string | null)[] = []) {
  const [command] = initCommands
  const input = command && parseWords(command, words)
  if (!input || command.usesDatabase) throw new Error('init takes a terminal')
  const printed: string[] = []
  const asked: string[] = []
  const rest = [...answers]
  const ask = async (question: string) => {
    asked.push(question)
    return rest.shift() ?? null
  }
  await command.run({ print: (line) => void printed.push(line), isTerminal: true, ask }, input)
  const code = process.exitCode
  process.exitCode = undefined
  return { asked, output: printed.join('\n'), code }
}

const reading = (folder: string) => ({
  text: (name: string) => readFileSync(join(folder, name), 'utf8'),
  names: () =>
    (readdirSync(folder, { recursive: true }) as string[])
      .filter((name) => name.includes('.') || /secrets\//.test(name))
      .sort(),
})

/** The lines of svc.yaml, and the configuration that svc reads from it. */
function configured(folder: string, seenAt: string) {
  const text = readFileSync(join(folder, 'svc.yaml'), 'utf8')
  const read = (path: string) => readFileSync(path.replace(seenAt, join(folder, 'secrets')), 'utf8')
  return { text, ...parseConfig({ text, file: 'svc.yaml', env: {}, cwd: process.cwd(), read }) }
}

t.test('asks five questions, explains a wrong answer, and writes what fits the answers', async (t) => {
  const folder = temporaryDirectory(t)
  const answers = [
    '',
    'auth.example.com',
    'http://localhost:9000',
    'mysql://db',
    'sqlite',
    'log',
    'pages',
    'ada',
    'none',
  ]
  const { asked, output } = await init([`--directory=${folder}`], answers)
  t.strictSame(
    asked.map((question) => question.split(/[,?[]/)[0]?.trim()),
    [
      'How will svc run',
      ...Array(2).fill('Public address of svc'),
      'Database: sqlite',
      'Database: sqlite',
      'Mail server',
      'Address of your front end',
      'Email address of the first administrator',
      'Email address of the first administrator',
    ],
  )
  t.match(asked[0], 'compose, helm, systemd, none [none]')
  const { config, text } = configured(folder, 'unused')
  t.match(config.app, { url: 'http://localhost:9000', environment: 'development' })
  t.equal(config.server.port, 9000)
  t.notMatch(text, 'admin:')
  t.match(output, /npm start/)
})

t.test('needs every option without a terminal, or --yes', async (t) => {
  const folder = temporaryDirectory(t)
  await t.rejects(
    init([`--directory=${folder}`, '--url=http://localhost:8000']),
    new CommandError('--database is missing. Without a terminal, pass every option, or --yes for the defaults.'),
  )
  t.strictSame(readdirSync(folder), [], 'writes nothing')
  await init([`--directory=${folder}`, '--yes'])
  t.strictSame(reading(folder).names(), ['secrets/.gitignore', 'secrets/svc_secret', 'svc.yaml'])
})

t.test('rejects options that svc could not work with, and writes nothing', async (t) => {
  const folder = temporaryDirectory(t)
  const rejected: [words: string[], message: RegExp][] = [
    [['--url=auth.example.com'], /--url must be an origin/],
    [['--url=http://auth.example.com'], /--url must use https, except on localhost/],
    [['--url=https://auth.example.com/id'], /without a path/],
    [['--url=https://auth.example.com'], /--mail is missing. It has no default here, because it must be a mail server/],
    [['--url=https://auth.example.com', '--mail=log'], /--mail must be a mail server/],
    [
      [...production, '--mail=mailto:u:p4ssword@x'],
      /^--mail must be log, or log:, file:<directory> or smtp\(s\):\/\/user:password@host:port\.$/,
    ],
    [['--url=https://a;b.example.com'], /host name of letters/],
    [[...production, '--url=https://auth.example.com:8443', '--proxy=caddy'], /no port with --proxy/],
    [[...production, '--database=file:x.db', '--deploy=compose'], /must be sqlite or PostgreSQL/],
    [[...production, '--database=mysql://db/svc'], /^--database must be sqlite, or a URL such as [^,]*\.$/],
    [[...production, '--database=postgresql'], /works only with Compose/],
    [[...production, '--frontend=https://app.example.org'], /--frontend must share a domain/],
    [[...production, '--url=https://a.github.io', '--frontend=https://b.github.io'], /must share a domain/],
    [[...production, '--frontend=http://app.example.com'], /must use the same scheme as svc/],
    [['--yes', '--url=https://example.com', mail, '--frontend=https://notexample.com'], /must share a domain/],
    [[...production, '--admin=Ada'], /--admin must be an email address/],
    [[...production, '--deploy=helm', '--proxy=nginx'], /cannot be combined/],
    [['--proxy=caddy', '--url=http://localhost:8000'], /--url must use https with --proxy=caddy/],
    [['--deploy=systemd', '--url=http://localhost:8000'], /must use https with --deploy=systemd/],
    [[...production, '--deploy=kubernetes'], /--deploy must be one of/],
  ]
  for (const [words, message] of rejected)
    await t.rejects(init(['--yes', `--directory=${folder}`, ...words]), { message }, words.join(' '))
  t.strictSame(readdirSync(folder), [])
})

t.test('writes a valid configuration of at most 40 lines for every combination', async (t) => {
  const seenAt = { compose: '/etc/svc/secrets', systemd: null, none: null }
  const smtp = await SmtpReceiver.start()
  t.teardown(() => smtp.close())
  const mails = [mail, `--mail=smtp://user:word@localhost:${smtp.port}`]
  for (const deploy of ['compose', 'systemd', 'none'] as const)
    for (const database of [
      'sqlite',
      'postgresql://svc:word@db.example.com/svc',
      ...(deploy === 'compose' ? ['postgresql'] : []),
    ])
      for (const frontend of ['pages', 'https://app.example.com', 'https://auth.example.com:8443'])
        for (const proxy of ['none', 'caddy'])
          for (const sent of deploy === 'compose' ? mails : [mail]) {
            const folder = temporaryDirectory(t)
            const given = [
              `--database=${database}`,
              `--frontend=${frontend}`,
              `--proxy=${proxy}`,
              `--deploy=${deploy}`,
              sent,
            ]
            await init(['--yes', '--url=https://auth.example.com', `--directory=${folder}`, ...given])
            const name = given.join(' ')
            const { config, text, warnings } = configured(folder, seenAt[deploy] ?? join(folder, 'secrets'))
            t.ok(text.split('\n').length <= 41, name)
            t.strictSame(warnings, [], name)
            t.match(config.app, { name: 'Example', environment: 'production' }, name)
            t.equal(config.database.engine, database === 'sqlite' ? 'sqlite' : 'postgresql', name)
            t.ok(config.server.trust_proxy.length > 0, name)
            if (frontend !== 'pages') t.ok(config.stateful.includes(new URL(frontend).host), name)
            for (const file of reading(folder)
              .names()
              .filter((each) => !each.startsWith('secrets/')))
              t.notMatch(reading(folder).text(file), ':word@', `no secret in ${file}`)
          }
})

t.test('writes the values of the Helm chart with the configuration in them', async (t) => {
  const folder = temporaryDirectory(t)
  await init([
    ...production,
    '--deploy=helm',
    '--database=postgresql://svc:word@db.example.com/svc',
    `--directory=${folder}`,
  ])
  t.strictSame(reading(folder).names(), [
    'secrets/.gitignore',
    'secrets/database_url',
    'secrets/svc_secret',
    'values.yaml',
  ])
  const values = parse(reading(folder).text('values.yaml'))
  t.match(values, {
    config: { app: { url: 'https://auth.example.com' }, database: { url: { file: '/run/secrets/svc/database_url' } } },
    secret: { name: 'svc', files: true },
  })
  t.notOk(values.persistence)
})

t.test('changes nothing when it runs again, unless a person agrees', async (t) => {
  const folder = temporaryDirectory(t)
  const words = [...answered, '--deploy=compose', '--database=postgresql', '--proxy=nginx', `--directory=${folder}`]
  const { output } = await init(words)
  t.equal(output.match(/^wrote /gm)?.length, 7)
  const files = reading(folder).names()
  const before = files.map((name) => reading(folder).text(name))
  const again = await init(words)
  t.equal(again.output.match(/^unchanged /gm)?.length, 7)
  t.strictSame(
    files.map((name) => reading(folder).text(name)),
    before,
    'the random secrets stay',
  )

  writeFileSync(join(folder, 'svc.yaml'), `${reading(folder).text('svc.yaml')}\n# mine\n`)
  const kept = await init(words)
  t.match(kept.output, /^kept .*svc\.yaml: has other content/m)
  t.match(reading(folder).text('svc.yaml'), '# mine', 'the file stays without an answer')
  t.strictSame((await init([...words, '--yes'], ['y'])).asked, [], '--yes asks nothing')
  await init(words, ['n'])
  t.match(reading(folder).text('svc.yaml'), '# mine')
  const replaced = await init(words, ['y'])
  t.match(replaced.output, /^replaced .*svc\.yaml/m)
  t.notMatch(reading(folder).text('svc.yaml'), '# mine')
})

t.test('keeps secrets from other users and from Git', async (t) => {
  const folder = temporaryDirectory(t)
  await init([...production, '--deploy=compose', '--database=postgresql', `--directory=${folder}`])
  const mode = (name: string) => statSync(join(folder, name)).mode & 0o777
  t.equal(mode('secrets'), 0o700)
  for (const name of ['svc_secret', 'postgres_password', 'database_url']) t.equal(mode(`secrets/${name}`), 0o600, name)
  t.equal(reading(folder).text('secrets/.gitignore'), '*\n')
  const { user } = parse(reading(folder).text('compose.yaml')).services.svc
  const { uid, gid } = statSync(join(folder, 'secrets/svc_secret'))
  t.equal(user, `${uid}:${gid}`, 'svc runs as their owner')
  t.not(uid, 0)
})

t.test('checks what the answers name, and keeps the files if a check fails', async (t) => {
  const folder = temporaryDirectory(t)
  const words = [...production, `--directory=${folder}`, '--database=postgresql://svc:word@localhost:1/svc']
  const { output, code } = await init(words)
  t.equal(code, 1)
  t.match(output, /^error +database +The database cannot be used: .*ECONNREFUSED/m)
  t.ok(reading(folder).names().includes('svc.yaml'))
})

t.test('repairs the modes of secrets, and follows no link', async (t) => {
  const folder = temporaryDirectory(t)
  const words = [...production, `--directory=${folder}`]
  await init(words)
  const secret = join(folder, 'secrets/svc_secret')
  chmodSync(secret, 0o644)
  chmodSync(join(folder, 'secrets'), 0o755)
  await init(words)
  t.equal(statSync(secret).mode & 0o777, 0o600)
  t.equal(statSync(join(folder, 'secrets')).mode & 0o777, 0o700)

  const elsewhere = join(temporaryDirectory(t), 'target')
  writeFileSync(elsewhere, 'untouched')
  rmSync(join(folder, 'svc.yaml'))
  symlinkSync(elsewhere, join(folder, 'svc.yaml'))
  await init([...answered, '--deploy=none', '--database=sqlite', '--proxy=none', `--directory=${folder}`], ['y'])
  t.equal(readFileSync(elsewhere, 'utf8'), 'untouched')
})

t.test('keeps strange names apart from YAML and from the shell', async (t) => {
  const folder = join(temporaryDirectory(t), "a, b} 'c")
  const words = ["--admin=o'brien@example.com", '--database=postgresql://u@localhost:1/svc']
  const { output } = await init(['--yes', ...words, `--directory=${folder}`])
  t.equal(configured(folder, join(folder, 'secrets')).config.app.secret.length, 1)
  t.ok(output.includes(`'--email=o'\\''brien@example.com'`), output)
})

t.test('says which file cannot be written', async (t) => {
  const folder = temporaryDirectory(t)
  writeFileSync(join(folder, 'secrets'), '')
  await t.rejects(init(['--yes', `--directory=${folder}`]), { message: /secrets\/svc_secret cannot be written: / })
})

t.test('writes sites of proxies that docs/proxies has too', async (t) => {
  const documented = (name: string) => readFileSync(join(root, 'docs/proxies', name), 'utf8')
  const written = async (proxy: string, name: string) => {
    const folder = temporaryDirectory(t)
    await init([...production, `--proxy=${proxy}`, `--directory=${folder}`])
    return reading(folder)
      .text(name)
      .replace(/^#.*\n/, '')
  }
  t.ok(documented('Caddyfile').includes(await written('caddy', 'Caddyfile')))
  const nginx = (await written('nginx', 'nginx.conf')).replaceAll('auth.example.com.', 'example.com.')
  for (const block of nginx.split('\n\nserver').map((each, index) => (index === 0 ? each : `server${each}`)))
    t.ok(documented('nginx.conf').includes(block), block)
  const traefik = parse(await written('traefik', 'traefik.yml'))
  const { http } = parse(documented('traefik.yml'))
  t.strictSame(traefik.http.routers.svc, http.routers.svc)
  t.strictSame(traefik.http.services.svc, http.services.svc)
})

t.test('writes a unit for systemd that starts svc as npm start does', async (t) => {
  const folder = temporaryDirectory(t)
  await init([...production, '--deploy=systemd', `--directory=${folder}`])
  const unit = reading(folder).text('svc.service')
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  t.ok(unit.includes(`ExecStart=/usr/bin/env ${scripts.start}\n`))
  t.ok(unit.includes(`WorkingDirectory=${root}\n`))
  t.ok(unit.includes(`Environment="SVC_CONFIG=${folder}/svc.yaml"`))
  t.ok(unit.includes(dirname(process.execPath)), 'the Node that ran svc init')
  t.match(reading(folder).text('svc.yaml'), 'url: file:/var/lib/svc/svc.db')
})
