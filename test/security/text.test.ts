import t from 'tap'
import { openDatabase } from '../../src/platform/database/database.ts'
import { createLogger } from '../../src/platform/observability/logging.ts'
import { registration, strongPassword } from '../support/accounts.ts'
import { buildTestApp } from '../support/app.ts'
import { Authenticator } from '../support/authenticator.ts'
import { invalid, openShell } from '../support/shell.ts'
import { confirmedBrowser } from '../support/totp.ts'

const invisible = {
  'soft hyphen': '\u00ad',
  'zero-width space': '\u200b',
  'right-to-left override': '\u202e',
  tag: '\u{e0041}',
}
const addressError = { email: ['The email field must be a valid email address.'] }

t.test('rejects addresses with format characters at every entry point', async (t) => {
  const secret = 'a-secret-that-is-long-enough'
  const clients = [{ client_id: 'phone', type: 'confidential', secret, grants: ['password'] }]
  const svc = await buildTestApp(t, {
    settings: { clients, app: { frontend_url: 'http://localhost:8000' }, rate_limits: { mail: null } },
  })
  const user = await svc.createUser({ email: 'ada@example.com' })
  for (const [name, character] of Object.entries(invisible)) {
    const email = `a${character}da@example.com`
    const spa = await confirmedBrowser(svc, user.email)
    const guest = svc.browser()
    await guest.get('/svc/csrf-cookie')
    const entryPoints = {
      '/register': guest.post('/register', registration(email)),
      '/login': guest.post('/login', { email, password: 'correct horse' }),
      '/svc/token': svc.bearer(null, 'POST', '/svc/token', { email, password: 'x', device_name: 'd' }),
      '/test-login': guest.post('/test-login', { email, password: 'x' }),
      '/forgot-password': guest.post('/forgot-password', { email }),
      '/user/profile-information': spa.put('/user/profile-information', { name: 'Ada', email }),
    }
    for (const [path, answer] of Object.entries(entryPoints)) {
      const { statusCode, body } = await answer
      t.equal(statusCode, 422, `${path} rejects a ${name}`)
      t.match(JSON.parse(body).errors, addressError, path)
    }
    for (const path of ['/oauth/login', '/oauth/forgot-password']) {
      t.equal((await guest.post(path, { email, password: 'x' }, { accept: 'text/html' })).statusCode, 422, path)
    }
    const payload = {
      grant_type: 'password',
      username: email,
      password: 'x',
      client_id: 'phone',
      client_secret: secret,
    }
    const grant = await svc.app.inject({ method: 'POST', url: '/oauth/token', payload })
    t.match(grant.json(), { error: 'invalid_grant' }, 'the password grant')
  }
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('rejects control characters in names in forms', async (t) => {
  const svc = await buildTestApp(t, { settings: { passkeys: { confirm_password: false } } })
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const bearer = await svc.createToken(user)
  for (const character of ['\u0007', '\u001b', '\u007f', '\u009b', '\n', '\u2028', '\u202e', '\u2066']) {
    const name = `a${character}b`
    const guest = svc.browser()
    await guest.get('/svc/csrf-cookie')
    const credential = new Authenticator({ counter: 1 }).register(
      (await spa.get('/user/passkeys/options')).json().options,
    )
    const forms = [
      ['name', await guest.post('/register', { ...registration('new@example.com'), name })],
      ['name', await spa.put('/user/profile-information', { name, email: user.email })],
      ['token_name', await spa.post('/api/tokens/create', { token_name: name })],
      ['token_name', await svc.bearer(bearer, 'POST', '/tokens/create', { token_name: name })],
      [
        'device_name',
        await svc.bearer(null, 'POST', '/svc/token', {
          email: user.email,
          password: 'correct horse',
          device_name: name,
        }),
      ],
      ['name', await spa.post('/oauth/personal-access-tokens', { name })],
      ['name', await spa.post('/user/passkeys', { name, credential })],
    ] as const
    for (const [field, answer] of forms) {
      t.equal(answer.statusCode, 422, answer.body)
      const shown = field.replace('_', ' ')
      t.strictSame(answer.json().errors[field], [`The ${shown} field contains characters that are not allowed.`])
    }
  }
  const good = 'Ada \u{1f469}\u200d\u{1f4bb} \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645'
  t.equal((await spa.put('/user/profile-information', { name: good, email: user.email })).statusCode, 200)
  t.equal((await spa.get('/api/user')).json().name, good, 'joiners that scripts and emoji need are kept')
})

t.test('prints nothing on the command line that a terminal interprets', async (t) => {
  const { run, database } = await openShell(t)
  const hostile = 'A\u001b]0;owned\u0007\u009b31m\u202ecba\u2028\u{e0041}B'
  const create = (email: string, name: string) =>
    run(`${strongPassword}\n`, 'user:create', `--email=${email}`, `--name=${name}`)
  t.equal((await create('ada@example.com', 'Ada')).code, 0)
  invalid(t, await create('b@example.com', hostile), {
    name: ['The name field contains characters that are not allowed.'],
  })
  invalid(t, await create('a\u202eb@example.com', 'B'), addressError)
  const db = await openDatabase(database)
  t.teardown(db.close)
  await db.prisma.user.update({ where: { email: 'ada@example.com' }, data: { name: hostile } })
  const outputs = [
    await run('', 'user:list'),
    await run('', 'user:update', '--email=ada@example.com', '--verify'),
    await run('', 'user:update', `--${hostile}`),
    await run('', hostile),
  ]
  for (const { stdout, stderr } of outputs) t.notMatch(stdout + stderr, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}]/u)
  for (const { stdout } of outputs.slice(0, 2)) t.equal(JSON.parse(stdout).name, hostile, 'the JSON means the same')
})

t.test('logs nothing that a terminal interprets', async (t) => {
  const lines: string[] = []
  const log = createLogger('info', { write: (line) => void lines.push(line) })
  log.info({ name: 'a\u009b31m\u202e' }, 'said \u009b')
  t.notMatch(lines.join(''), /(?!\n)[\p{Cc}\p{Cf}]/u)
  t.match(JSON.parse(lines.join('')), { name: 'a\u009b31m\u202e', msg: 'said \u009b' })
})
