// lane: all
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { decodeJwt } from 'jose'
import t, { type Test } from 'tap'
import { registration, visitor } from '../../support/accounts.ts'
import { buildTestApp } from '../../support/app.ts'
import { runCommandOn } from '../../support/command.ts'
import { oauthSettings, token } from '../../support/oauth.ts'
import { freePort, temporaryDirectory } from '../../support/process.ts'
import { stopTime } from '../../support/time.ts'
import { until } from '../../support/until.ts'

const manual = readFileSync(resolve(import.meta.dirname, '../../../docs/hooks.md'), 'utf8')

/** The receiver in one language, as the documentation has it. */
const programOf = (language: string): string =>
  new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(manual)?.[1] ?? ''

const receivers: [language: string, file: string, command: string[], build?: string[]][] = [
  ['js', 'receiver.mjs', [process.execPath, 'receiver.mjs']],
  ['python', 'receiver.py', ['python3', 'receiver.py']],
  ['go', 'receiver.go', ['./receiver'], ['go', 'build', '-o', 'receiver', 'receiver.go']],
]

/** Starts a receiver; returns its URL. */
async function start(t: Test, [language, file, command, build]: (typeof receivers)[number], secret: string) {
  const cwd = temporaryDirectory(t)
  writeFileSync(join(cwd, file), programOf(language))
  if (build) {
    const [program = '', ...args] = build
    const built = spawnSync(program, args, { cwd, encoding: 'utf8', env: { ...process.env, CGO_ENABLED: '0' } })
    t.equal(built.status, 0, built.stderr)
  }
  const port = await freePort()
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd, env: { ...process.env, PORT: String(port), HOOK_SECRET: secret } })
  t.teardown(() => void child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}/`
  await until(() =>
    fetch(url, { method: 'POST' }).then(
      ({ status }) => status === 401,
      () => false,
    ),
  )
  return url
}

for (const receiver of receivers) {
  t.test(`the receiver in ${receiver[0]} decides about registrations, sign-ins and tokens`, async (t) => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`
    const url = await start(t, receiver, secret)
    const hook = () => ({ url, secret: ['whsec_bm90IHRoZSBzZWNyZXQsIGJ1dCBhbiBvbGRlciBvbmU=', secret] })
    const svc = await buildTestApp(t, {
      settings: {
        ...oauthSettings,
        outbound: { allow_private: ['127.0.0.0/8'] },
        rate_limits: { register: null },
        hooks: {
          before_registration: hook(),
          before_sign_in: { ...hook(), timeout: '10s' },
          before_token: { ...hook(), claims: ['tier'] },
        },
      },
      clock: stopTime(t),
    })
    const browser = await visitor(svc)
    const refused = await browser.post('/register', registration('ada@elsewhere.example'))
    t.strictSame(refused.json().errors, { email: ['Use your address at example.com.'] })
    t.equal((await browser.post('/register', registration('ada@example.com'))).statusCode, 201)
    t.equal((await browser.get('/api/user')).statusCode, 200)

    const admin = await svc.createUser({ role: 'admin' })
    t.match((await svc.browser().signIn(admin.email)).json(), { code: 'second_factor_required' })

    const machine = (await token(svc, 'machine', { grant_type: 'client_credentials' })).json()
    t.match(decodeJwt(machine.access_token), { tier: 'basic' })
    const tierOf = async () => decodeJwt((await browser.post('/oauth/token/fresh')).json().access_token).tier
    t.equal(await tierOf(), 'basic')
    await runCommandOn(svc, 'group:create', 'premium')
    await runCommandOn(svc, 'group:add', 'premium', '--email=ada@example.com')
    t.equal(await tierOf(), 'premium')

    const unsigned = { method: 'POST', body: '{"type":"before_sign_in"}', headers: { 'webhook-signature': 'v1,AAAA' } }
    t.equal((await fetch(url, unsigned)).status, 401)
  })
}
