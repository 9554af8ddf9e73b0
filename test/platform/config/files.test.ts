// engine: none
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that very syntax is under test
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ConfigError } from '../../../src/platform/config/config-error.ts'
import { loadConfig, parseConfig } from '../../../src/platform/config/load.ts'
import { runCli } from '../../support/process.ts'

const client = (id: string, more = '') => `client_id: ${id}\ntype: public\ngrants: [device_code]\n${more}`

/** Writes files into a new directory. The main one is `etc/svc.yaml`. */
function folderOf(t: Test, files: Record<string, string>): string {
  const folder = t.testdir({ etc: { 'clients.d': {} } })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'etc', name), text)
  return folder
}

const load = (cwd: string, env: Record<string, string> = {}) =>
  loadConfig({ cwd, env: { SVC_CONFIG: 'etc/svc.yaml', ...env } })

/** The printed problems. */
function problemsOf(cwd: string, env: Record<string, string> = {}): string[] {
  try {
    load(cwd, env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
}

t.test('merges included files and the clients of a directory', (t) => {
  const cwd = folderOf(t, {
    'svc.yaml': `include: [more.yaml, ../other.yaml]\nclients_directory: clients.d\noauth: { access_token_ttl: 5m }\nclients:\n  - ${client('main').trim().replaceAll('\n', '\n    ')}\n`,
    'more.yaml': 'oauth: { refresh_grace: 20s }\nclients: [{ client_id: more, type: public, grants: [device_code] }]\n',
    '../other.yaml': 'app: { name: ${NAME} }\n',
    'clients.d/b.yaml': client('b'),
    'clients.d/a.yaml': `- ${client('a1').trim().replaceAll('\n', '\n  ')}\n- { client_id: a2, type: confidential, secret: "\${A2}", grants: [client_credentials] }\n`,
    'clients.d/.hidden.yaml': 'nonsense',
    'clients.d/notes.txt': 'nonsense',
  })
  const { config, others, originOf } = load(cwd, { NAME: 'Acme', A2: 'a-secret-that-is-long-enough' })
  t.equal(config.app.name, 'Acme')
  t.match(config.oauth, { access_token_ttl: 300_000, refresh_grace: 20_000 })
  t.same(
    config.clients.map(({ client_id }) => client_id),
    ['main', 'more', 'a1', 'a2', 'b'],
  )
  t.equal(config.clients[3]?.secret, 'a-secret-that-is-long-enough')
  t.same(others, ['etc/more.yaml', 'other.yaml', 'etc/clients.d/a.yaml', 'etc/clients.d/b.yaml'])
  t.same(originOf(['clients', 3, 'secret']), { file: 'etc/clients.d/a.yaml', line: 4, usesEnvironment: true })
  t.same(originOf(['oauth', 'refresh_grace']), { file: 'etc/more.yaml', line: 1, usesEnvironment: false })
  t.equal(originOf(['oauth', 'audience']), null)
  t.end()
})

t.test('names the file of a guard rule that is not in the main file', (t) => {
  const rules = (second: string) => `guard:\n  rules:\n    - paths: ["/a/*"]\n    - { paths: [${second}] }\n`
  const cwd = folderOf(t, { 'svc.yaml': 'include: [rules.yaml]\n', 'rules.yaml': rules('/b') })
  t.match(load(cwd).config.guard.rules, [
    { place: { file: 'etc/rules.yaml', line: 3 } },
    { place: { file: 'etc/rules.yaml', line: 4 } },
  ])
  const hidden = folderOf(t, { 'svc.yaml': 'include: [rules.yaml]\n', 'rules.yaml': rules('/a/b') })
  t.match(problemsOf(hidden), [/^etc\/rules\.yaml:4: .* because guard\.rules\[0\] \(etc\/rules\.yaml:3\) matches/])
  const main = folderOf(t, { 'svc.yaml': rules('/a/b') })
  t.match(problemsOf(main), [/^etc\/svc\.yaml:4: .* because guard\.rules\[0\] \(line 3\) matches/])
  t.end()
})

t.test('reports errors with the file and line, and duplicates with both places', (t) => {
  const cwd = folderOf(t, {
    'svc.yaml':
      'include: [more.yaml]\nclients_directory: clients.d\napp:\n  name: One\nclients: [{ client_id: one, type: public, grants: [device_code] }]\n',
    'more.yaml':
      'include: [x.yaml]\napp:\n  name: Two\n  nonsense: 1\nclients:\n  - client_id: two\n    type: odd\n    grants: [device_code]\n',
    'clients.d/team.yaml': client('one', 'redirect_uris: [nowhere]\nscopes: ["no:such"]\n'),
    'clients.d/twice.yaml': `- { client_id: team, type: public, grants: [device_code] }\n- { client_id: two, type: public, grants: [device_code] }\n`,
    'clients.d/key.yaml': 'client_id: key\nclient_id: key2\ntype: public\ngrants: [device_code]\n',
  })
  const found = problemsOf(cwd)
  t.match(found, [
    /^etc\/more\.yaml:1: include: is allowed only in the main file$/,
    /^etc\/more\.yaml:3: app\.name: is a duplicate key \(first in etc\/svc\.yaml:4\); remove one of them$/,
    /^etc\/more\.yaml:4: app\.nonsense: is not a known key/,
    /^etc\/more\.yaml:7: clients\[1\]\.type: must be one of confidential, public/,
    /^etc\/clients\.d\/key\.yaml:2: clients\[2\]\.client_id: is a duplicate key \(first on line 1\); remove one of them$/,
    /^etc\/clients\.d\/team\.yaml:1: clients\[3\]\.client_id: must be unique; .* \(first in etc\/svc\.yaml:5\)$/,
    /^etc\/clients\.d\/team\.yaml:4: clients\[3\]\.redirect_uris\[0\]: must be an absolute URI/,
    /^etc\/clients\.d\/team\.yaml:5: clients\[3\]\.scopes\[0\]: /,
    /^etc\/clients\.d\/twice\.yaml:2: clients\[5\]\.client_id: must be unique; .* \(first in etc\/more\.yaml:6\)$/,
  ])
  t.equal(found.length, 9, found.join('\n'))
  t.end()
})

t.test('rejects files that it cannot read, and the same file twice', (t) => {
  const cwd = folderOf(t, {
    'svc.yaml': 'include: [gone.yaml, svc.yaml, ./more.yaml, more.yaml, list.yaml]\nclients_directory: missing\n',
    'more.yaml': '',
    'list.yaml': '- 1\n',
  })
  t.match(problemsOf(cwd), [
    /^etc\/svc\.yaml:1: include\[0\]: the file etc\/gone\.yaml cannot be read \(no such file\)$/,
    /^etc\/svc\.yaml:1: include\[1\]: must be unique \(found "svc\.yaml" twice, or this file\)$/,
    /^etc\/svc\.yaml:1: include\[3\]: must be unique/,
    /^etc\/svc\.yaml:2: clients_directory: the directory etc\/missing cannot be read \(no such file\)$/,
    /^etc\/list\.yaml:1: must be a mapping of sections$/,
  ])
  writeFileSync(join(cwd, 'etc/svc.yaml'), 'include: [bad.yaml]\n')
  writeFileSync(join(cwd, 'etc/bad.yaml'), 'app:\n  name: "a\n\tb: [\n')
  t.match(problemsOf(cwd)[0], /^etc\/bad\.yaml:\d: is not valid YAML/)
  t.end()
})

t.test('rejects client files with other sections, variables or links out of the directory', (t) => {
  const folder = t.testdir({
    secret: 'top: secret of svc\n',
    etc: { 'svc.yaml': 'clients_directory: clients.d\n', 'clients.d': {} },
  })
  const place = (name: string) => join(folder, 'etc/clients.d', name)
  writeFileSync(place('empty.yaml'), '# nothing\n')
  writeFileSync(place('section.yaml'), 'app: { name: Mine }\n')
  writeFileSync(place('text.yaml'), 'text\n')
  writeFileSync(place('variable.yaml'), client('v', 'name: "${DATABASE_URL}"\n'))
  symlinkSync(join(folder, 'secret'), place('link.yaml'))
  symlinkSync('../../secret', place('relative.yaml'))
  symlinkSync('nowhere', place('broken.yaml'))
  mkdirSync(place('folder.yaml'))
  execFileSync('mkfifo', [place('pipe.yaml')])
  writeFileSync(place('large.yaml'), '')
  truncateSync(place('large.yaml'), 1_048_577)
  const found = problemsOf(folder, { DATABASE_URL: 'file:secret-path.db' })
  const isIn = (name: string, message: RegExp) =>
    t.ok(
      found.some((line) => line.startsWith(`etc/clients.d/${name}.yaml`) && message.test(line)),
      `${name}: ${found}`,
    )
  isIn('empty', /: the file is empty$/)
  isIn('section', /clients\[\d\]\.app: is not a known key/)
  isIn('text', /must be a client or a list of clients/)
  isIn('variable', /:4: name: must not refer to the environment; only secret may$/)
  isIn('link', /: is a symbolic link to a file outside of its directory$/)
  isIn('relative', /: is a symbolic link to a file outside of its directory$/)
  isIn('broken', /cannot be read \(no such file\)/)
  isIn('folder', /: is not a regular file$/)
  isIn('pipe', /: is not a regular file$/)
  isIn('large', /: is larger than 1 MiB$/)
  t.notMatch(found.join(), /secret of svc|secret-path/)
  t.end()
})

t.test('follows the links of a Kubernetes volume', (t) => {
  const folder = t.testdir({ etc: { 'svc.yaml': 'clients_directory: /clients\n' }, volume: { v1: {} } })
  const volume = join(folder, 'volume')
  writeFileSync(join(folder, 'etc/svc.yaml'), `clients_directory: ${volume}\n`)
  writeFileSync(join(volume, 'v1/team.yaml'), client('team'))
  renameSync(join(volume, 'v1'), join(volume, '..2026'))
  symlinkSync('..2026', join(volume, '..data'))
  symlinkSync('..data/team.yaml', join(volume, 'team.yaml'))
  t.equal(load(folder).config.clients[0]?.client_id, 'team')
  t.end()
})

t.test('config:check reads all files', async (t) => {
  const cwd = folderOf(t, {
    'svc.yaml': 'include: [more.yaml]\nclients_directory: clients.d\n',
    'more.yaml':
      'app: { name: Acme }\nclients:\n  - { client_id: more, type: public, redirect_uris: ["https://*.example.com/cb"], grants: [authorization_code] }\n',
    'clients.d/team.yaml': client('team'),
  })
  const check = () => runCli(['config:check'], { cwd, env: { SVC_CONFIG: 'etc/svc.yaml' } })
  t.match(await check(), {
    code: 0,
    stdout: 'etc/svc.yaml, etc/more.yaml, etc/clients.d/team.yaml: valid\n',
    stderr: /^etc\/more\.yaml:3: clients\[.*\* matches only itself\n$/,
  })
  writeFileSync(join(cwd, 'etc/clients.d/team.yaml'), client('svc-team'))
  t.match(await check(), {
    code: 78,
    stderr: /^etc\/clients\.d\/team\.yaml:1: clients\[1\]\.client_id: must not begin/,
  })
})

t.test('config:check reports templates, texts and events with unknown names', async (t) => {
  const cwd = folderOf(t, {
    'svc.yaml': `templates: { pages: pages, mail: mail }
theme: { texts: { login.tilte: Hello } }
`,
  })
  for (const [name, text] of Object.entries({
    'pages/login.eta': 'x',
    'pages/logn.eta': 'x',
    'pages/style.css': 'x',
    'pages/README.md': 'x',
    'pages/.keep': '',
    'mail/layout.html.eta': 'x',
    'mail/verify-email.txt': 'x',
    'mail/newsletter.png': 'x',
  })) {
    mkdirSync(join(cwd, name, '..'), { recursive: true })
    writeFileSync(join(cwd, name), text)
  }
  const check = () => runCli(['config:check', 'etc/svc.yaml'], { cwd })
  const { code, stderr } = await check()
  t.equal(code, 0)
  t.match(stderr.trim().split('\n'), [
    'theme.texts contains the unknown text login.tilte',
    /^templates\.mail: svc does not use the file newsletter\.png in .*\/mail; use the names .* confirmation-code\.html\.eta$/,
    /^templates\.mail: svc does not use the file verify-email\.txt in .*; did you mean verify-email\.txt\.eta\?$/,
    /^templates\.pages: svc does not use the file logn\.eta in .*\/pages; did you mean login\.eta\?$/,
  ])
  t.equal(stderr.trim().split('\n').length, 4)
  writeFileSync(
    join(cwd, 'etc/svc.yaml'),
    'webhooks: [{ url: https://hooks.example.com, secret: s, events: [user.logn] }]\n',
  )
  t.match(await check(), {
    code: 78,
    stderr: /webhooks\[0\]\.events\[0\]: must name an event .*did you mean user\.login\?/,
  })
})

t.test('accepts one directory for the templates of pages and of mails', async (t) => {
  const cwd = folderOf(t, { 'svc.yaml': 'templates: { pages: own, mail: own }\n' })
  mkdirSync(join(cwd, 'own'))
  for (const name of ['login.eta', 'verify-email.txt.eta']) writeFileSync(join(cwd, 'own', name), 'x')
  t.same(load(cwd).warnings, [])
})

t.test('reads several secrets from one file, where a list of secrets is allowed', (t) => {
  const cwd = t.testdir({
    secrets: 'Wm1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M, 2n1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M\n',
    one: 'a,b',
  })
  const parse = (text: string) => parseConfig({ text, file: 'svc.yaml', env: {}, cwd })
  const { config } = parse('app: { secret: { file: secrets } }')
  t.strictSame(
    config.app.secret.map((secret) => secret.slice(0, 3)),
    ['Wm1', '2n1'],
  )
  const client = 'type: confidential, grants: [client_credentials], secret: { file: one }'
  t.strictSame(parse(`clients: [{ client_id: x, ${client} }]`).config.clients[0]?.secret, ['a', 'b'])
  t.end()
})
