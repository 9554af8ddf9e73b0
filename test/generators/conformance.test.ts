// engine: none
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { startWithAda } from '../support/listening.ts'
import { temporaryDirectory } from '../support/process.ts'
import { remoteBrowser } from '../support/remote.ts'
import { apiTools, hasRuntimes } from './tools.ts'

const tools = apiTools()

/** Nothing limits the many requests of one address. */
const rate_limits = Object.fromEntries(
  ['login', 'register', 'mail', 'token', 'two_factor', 'authorization'].map((name) => [name, '1000000/1s']),
)

t.test('answers generated requests as the API description says', async (t) => {
  if (!tools) {
    const line = 'SCHEMATHESIS IS NOT INSTALLED (npm run api:tools): THE API DESCRIPTION WAS NOT COMPARED WITH ANSWERS'
    process.stderr.write(`*** ${line} ***\n`)
    t.notOk(process.env.CI && hasRuntimes(), line)
    return
  }
  const { url } = await startWithAda(t, {}, { rate_limits: { ...rate_limits, login_address: null } })
  const browser = remoteBrowser(url)
  const { statusCode } = await browser.signIn('ada@example.com', 'correct horse')
  t.equal(statusCode, 200)
  const cookie = async (name: string) => decodeURIComponent((await browser.cookie(name)) ?? '')
  const env = {
    ...process.env,
    SVC_URL: url,
    SVC_SESSION: await cookie('svc_session'),
    SVC_XSRF: await cookie('XSRF-TOKEN'),
  }
  const config = join(import.meta.dirname, 'schemathesis.toml')
  const args = ['-m', 'schemathesis.cli', '--config-file', config, 'run', `${url}/openapi.json`, '--no-color']
  const child = spawn(tools.python, args, { cwd: temporaryDirectory(t), env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const code = await new Promise((done) => child.once('close', done))
  t.equal(code, 0, output)
  t.match(output, /Tested: 1\d\d/)
})
