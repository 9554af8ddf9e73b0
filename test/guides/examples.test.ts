// engine: none
// process: own
import { execFile, spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { audience } from '../../packages/guard/test/issuer.ts'
import { startSvc } from '../../packages/guard/test/svc.ts'
import { freePort } from '../support/port.ts'
import { until } from '../support/until.ts'
import { guideTools, hasRuntimes } from './tools.ts'

const guides = resolve(import.meta.dirname, '../../docs/guides')
const hook = `--import=${new URL('guard-hook.mjs', import.meta.url).href}`
const tools = guideTools()

/** How an example starts on a port. */
type Example = { guide: string; command: (port: number) => string[]; env?: Record<string, string> }

const node = (guide: string, script: string): Example => ({ guide, command: () => [process.execPath, hook, script] })
const examples: Example[] = [
  node('express', 'server.js'),
  node('fastify', 'server.js'),
  node('nextjs', join(import.meta.dirname, 'nextjs-server.mjs')),
]
if (tools) {
  const { python, go, jar } = tools
  const noCache = { PYTHONDONTWRITEBYTECODE: '1' }
  examples.push(
    { guide: 'fastapi', command: (port) => [python, '-m', 'uvicorn', 'main:app', `--port=${port}`], env: noCache },
    {
      guide: 'django',
      command: (port) => [python, 'manage.py', 'runserver', '--noreload', `127.0.0.1:${port}`],
      env: { ...noCache, DJANGO_SECRET_KEY: 'only for this test' },
    },
    { guide: 'go', command: () => [go] },
    // Starts once, so a quick start matters more than optimised code.
    { guide: 'spring-boot', command: () => ['java', '-XX:TieredStopAtLevel=1', '-jar', jar] },
  )
} else {
  const line = 'THE EXAMPLES OF THE GUIDES ARE NOT BUILT (npm run guides:tools): ONLY THOSE FOR NODE WERE TESTED'
  process.stderr.write(`*** ${line} ***\n`)
  t.notOk(process.env.CI && hasRuntimes(), line)
}

const svc = await startSvc(t)

async function start(t: Test, { guide, command, env = {} }: Example) {
  const port = await freePort()
  const [program = '', ...args] = command(port)
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(program, args, {
    cwd: join(guides, guide),
    env: { PATH, HOME, PORT: String(port), SVC_ISSUER: svc.url, SVC_AUDIENCE: audience, ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const ended = new Promise((done) => child.once('close', done))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const call = async (method: string, token?: string, headers: Record<string, string> = {}) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const answer = await fetch(`http://127.0.0.1:${port}/orders`, { method, headers: { ...authorization, ...headers } })
    const text = await answer.text()
    return { status: answer.status, challenge: answer.headers.get('www-authenticate'), text }
  }
  await until(async () => {
    if (child.exitCode !== null) throw new Error(output)
    return call('GET').then(
      () => true,
      () => false,
    )
  })
  return call
}

const invalid = { status: 401, challenge: /^Bearer .*error="invalid_token"/ }

for (const example of examples) {
  t.test(`${example.guide}: accepts access tokens of svc for its audience, and nothing else`, async (t) => {
    const call = await start(t, example)
    t.match(await call('GET'), { status: 401, challenge: /^Bearer(?!.*error)/ }, 'without a token')
    t.match(await call('GET', undefined, { authorization: 'Basic dXNlcjpwYXNz' }), { status: 401 })

    const phantom = (await svc.phantom(await svc.apiTokenWith(['orders:read']))).slice('Bearer '.length)
    const listed = await call('GET', phantom)
    t.match(listed, { status: 200 })
    t.same(JSON.parse(listed.text), { user: '1', orders: [] })
    t.match(await call('POST', phantom), { status: 403, challenge: /error="insufficient_scope"/ })
    const created = await call('POST', await svc.machineJwt('orders:write'))
    t.match(created, { status: 201 })
    t.same(JSON.parse(created.text), { user: 'cron' })

    const { access_token, id_token } = await svc.jwts()
    t.match(await call('GET', access_token), invalid, 'a token for another API')
    t.match(await call('GET', id_token), invalid, 'an ID token')
    const [header, payload = '', signature] = phantom.split('.')
    const claims = { ...JSON.parse(atob(payload)), sub: '2' }
    const forged = Buffer.from(JSON.stringify(claims)).toString('base64url')
    t.match(await call('GET', `${header}.${forged}.${signature}`), invalid, 'a changed payload')
    const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url')
    t.match(await call('GET', `${none}.${payload}.`), { status: /^40[01]$/ }, 'no signature')
    t.match(await call('GET', 'x'), { status: 401 }, 'a text')
  })
}

for (const guide of ['express', 'fastify']) {
  t.test(`${guide}: the test of the example passes without svc`, async (t) => {
    const cwd = join(guides, guide)
    const run = promisify(execFile)(process.execPath, [hook, 'app.test.js'], { cwd })
    t.match(await run.catch(String), { stdout: /# fail 0|fail 0/ })
  })
}
