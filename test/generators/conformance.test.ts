// engine: none
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { confirming } from '../support/app.ts'
import { startWithAda } from '../support/listening.ts'
import { basic, callback, secret } from '../support/oauth.ts'
import { temporaryDirectory } from '../support/process.ts'
import { remoteBrowser, requestWithBearer, sendRequest } from '../support/remote.ts'
import { apiTools, hasRuntimes } from './tools.ts'

const tools = apiTools()

/** Limits that the many requests of one address do not reach. */
const rate_limits = Object.fromEntries(
  ['login', 'register', 'mail', 'token', 'two_factor', 'authorization'].map((name) => [name, '1000000/1s']),
)

const program = {
  client_id: 'program',
  type: 'confidential',
  secret,
  grants: ['client_credentials', 'authorization_code', 'device_code'],
  redirect_uris: [callback],
  scopes: ['view-tasks', 'check-status', 'place-orders'],
  introspect: true,
}

/** Credentials of the client, for the configuration of Schemathesis. */
const client = { SVC_CLIENT: program.client_id, SVC_CLIENT_SECRET: secret }

const settings = {
  ...confirming,
  rate_limits: { ...rate_limits, login_address: null },
  scopes: { 'view-tasks': 'See your tasks', 'check-status': 'See your orders', 'place-orders': 'Place orders' },
  clients: [program],
}

/** Operations that revoke the token of the following requests. */
const endsBearer = ['logout', 'revokeTokens', 'revokeCurrentToken']

/** Operations that both configurations turn off. */
const disabled = ['adminImportUsers']

type Description = { paths: Record<string, Record<string, { operationId: string; security: object[] }>> }

t.test('answers generated requests as the API description says', async (t) => {
  if (!tools) {
    const line = 'SCHEMATHESIS IS NOT INSTALLED (npm run api:tools): THE API DESCRIPTION WAS NOT COMPARED WITH ANSWERS'
    process.stderr.write(`*** ${line} ***\n`)
    t.notOk(process.env.CI && hasRuntimes(), line)
    return
  }
  const { python } = tools
  const { url } = await startWithAda(t, {}, settings)
  const { paths } = (await sendRequest(url, { url: '/openapi.json' })).json<Description>()
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const idsWith = (scheme: string) =>
    operations
      .filter(({ security }) => security.some((schemes) => scheme in schemes))
      .map(({ operationId }) => operationId)
      .filter((id) => ![...endsBearer, ...disabled].includes(id))

  /** Runs Schemathesis with a configuration, on all operations or on some, and returns its output. */
  async function generate(t: Test, file: string, env: Record<string, string>, only: string[] = []): Promise<string> {
    const config = join(import.meta.dirname, file)
    const filters = only.flatMap((id) => ['--include-operation-id', id])
    const args = ['--config-file', config, 'run', `${url}/openapi.json`, '--no-color', ...filters]
    const child = spawn(python, ['-m', 'schemathesis.cli', ...args], {
      cwd: temporaryDirectory(t),
      env: { ...process.env, SVC_URL: url, ...env },
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text
      })
    }
    const code = await new Promise((done) => child.once('close', done))
    // Shows the failures without the progress before them.
    t.equal(code, 0, output.slice(Math.max(0, output.indexOf('= FAILURES ='))))
    return output
  }

  await t.test('with an API token', async (t) => {
    const payload = { email: 'ada@example.com', password: 'correct horse', device_name: 'Schemathesis' }
    const signIn = async () => (await sendRequest(url, { method: 'POST', url: '/svc/token', payload })).json().token
    // Generated requests revoke the tokens with small ids.
    for (let id = 1; id <= 5; id++) await signIn()
    const token = await signIn()
    const ids = idsWith('bearer').filter((id) => !id.startsWith('getUserInfo'))
    const output = await generate(t, 'schemathesis-bearer.toml', { ...client, SVC_BEARER: token }, ids)
    t.match(output, new RegExp(`Tested: ${ids.length}\\b`))
    t.equal((await requestWithBearer(url, token, '/api/user')).statusCode, 200, 'the token is still valid')
  })

  await t.test('with the credentials and a token of an OAuth client', async (t) => {
    const payload = 'grant_type=client_credentials'
    const headers = { ...basic('program'), 'content-type': 'application/x-www-form-urlencoded' }
    const issued = await sendRequest(url, { method: 'POST', url: '/oauth/token', headers, payload })
    const { access_token: token } = issued.json()
    const ids = [...idsWith('bearer'), ...idsWith('basic')]
    const output = await generate(t, 'schemathesis-bearer.toml', { ...client, SVC_BEARER: token }, ids)
    t.match(output, new RegExp(`Tested: ${ids.length}\\b`))
    t.equal((await requestWithBearer(url, token, '/api/task')).statusCode, 200, 'the token is still valid')
  })

  // Last: its failed sign-ins lock the account.
  await t.test('with a session', async (t) => {
    const browser = remoteBrowser(url)
    t.equal((await browser.signIn('ada@example.com', 'correct horse')).statusCode, 200)
    const cookie = async (name: string) => decodeURIComponent((await browser.cookie(name)) ?? '')
    const env = { SVC_SESSION: await cookie('svc_session'), SVC_XSRF: await cookie('XSRF-TOKEN') }
    t.match(await generate(t, 'schemathesis.toml', env), /Tested: 2\d\d/)
  })
})
