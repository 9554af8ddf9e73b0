// engine: none
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { Authenticator } from '../support/authenticator.ts'
import { freePort, startMain, temporaryDirectory } from '../support/process.ts'
import { blocks, hasMobileRuntimes, type MobileTools, mobileTools } from './mobile/tools.ts'

const guide = ['mobile.md', 'mobile-bound-tokens.md']
  .map((name) => readFileSync(resolve(import.meta.dirname, '../../docs/guides', name), 'utf8'))
  .join('\n')

const run = promisify(execFile)

const tools = mobileTools()
if (!tools) {
  const line = 'THE CODE OF THE MOBILE GUIDE IS NOT COMPILED (npm run guides:tools): KOTLIN AND SWIFT WERE NOT TESTED'
  process.stderr.write(`*** ${line} ***\n`)
  t.notOk(process.env.CI && hasMobileRuntimes(), line)
}

t.test('runs the shell commands of the guide with its configuration', async (t) => {
  const cwd = temporaryDirectory(t)
  const port = await freePort()
  const [yaml = ''] = blocks('yaml')
  writeFileSync(join(cwd, 'svc.yaml'), `${yaml}app: { url: "http://localhost:${port}" }\n`)
  const svc = await startMain(t, { cwd, env: { PORT: String(port), SVC_CONFIG: 'svc.yaml' } })
  const separator = '\necho; echo ----\n'
  const script = blocks('sh').join(separator).replaceAll('http://localhost:8000', svc.url)
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd, env: { PATH: process.env.PATH } })
  const [files, sessions, code, reset, passkey, registration, end] = stdout.split('----')
  const { mobile_apps: apps } = parse(yaml)
  t.match(files, `{"webcredentials":{"apps":["${apps.ios[0]}"]}}`.slice(1, -1))
  t.match(files, '"components":[{"/":"/app/*"}]')
  t.match(files, apps.android[0].sha256_cert_fingerprints[0])
  t.equal(sessions?.match(/"email":"grace@example.com"/g)?.length, 2, 'registered, and read with the token')
  t.match(sessions, /"token":"\d+\|/)
  t.match(code, '"errors":{"email_code":["The provided code was incorrect or has expired."]}')
  t.match(reset, /We have emailed your password reset link.*This password reset token is invalid/s)
  t.match(passkey, /"rpId":"localhost".*"challenge_token":"[\w-]{43}".*"errors":\{"credential":\[/s)
  t.match(registration, /"user":\{.*"name":"grace@example.com".*"challenge_token".*registration session expired/s)
  t.match(end, /"name":"Pixel 9".*Logged out.*"code":"unauthenticated"/s)
})

/** Loads the React Native code with this server and an authenticator in place of the platform. */
async function reactNative(cwd: string, url: string) {
  const authenticator = new Authenticator()
  const Passkey = {
    create: async (options: { challenge: string }) => authenticator.register(options, { origin: url }),
    get: async (options: { challenge: string }) => authenticator.assert(options, { origin: url }),
  }
  Object.assign(globalThis, { Passkey })
  const platform = join(cwd, 'node_modules', 'react-native-passkey')
  mkdirSync(platform, { recursive: true })
  writeFileSync(join(platform, 'package.json'), '{ "type": "module", "exports": "./index.js" }')
  writeFileSync(join(platform, 'index.js'), 'export const { Passkey } = globalThis\n')
  const file = join(cwd, 'app.mjs')
  writeFileSync(file, blocks('js').join('').replaceAll('https://auth.example.com', url))
  return import(file)
}

/** Runs the Kotlin code with this server and an authenticator in place of the device. Returns the results of its calls. */
async function android({ classPath }: MobileTools, url: string, args: string[]): Promise<unknown[]> {
  const authenticator = new Authenticator()
  const options = ['-XX:TieredStopAtLevel=1', `-Dsvc=${url}`, '-cp', classPath, 'MainKt', ...args]
  const child = spawn('java', options, { stdio: ['pipe', 'pipe', 'inherit'] })
  const results: unknown[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const { create, get, result } = JSON.parse(line)
    if (create) child.stdin.write(`${JSON.stringify(authenticator.register(create, { origin: url }))}\n`)
    if (get) child.stdin.write(`${JSON.stringify(authenticator.assert(get, { origin: url }))}\n`)
    if (result) results.push(result)
  }
  return results
}

t.test('runs the React Native and the Kotlin code, and names every route and error code correctly', async (t) => {
  const port = await freePort()
  const cwd = temporaryDirectory(t)
  writeFileSync(join(cwd, 'svc.yaml'), `app: { url: "http://localhost:${port}" }\n`)
  const svc = await startMain(t, { cwd, env: { PORT: String(port), SVC_CONFIG: 'svc.yaml' } })
  const { signInByPasskey, addPasskey } = await reactNative(cwd, svc.url)
  const password = 'violet engine on the hill'
  const typed = { name: 'Grace', email: 'grace@example.com', password, password_confirmation: password }
  const registered = await fetch(`${svc.url}/svc/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ ...typed, device_name: 'Pixel 9' }),
  })
  const { token, user } = (await registered.json()) as { token: string; user: { id: number } }
  t.match(await addPasskey(token, password, 'Pixel 9'), { name: 'Pixel 9' })
  t.match(await signInByPasskey('Pixel 9'), { token: /^\d+\|/, user: { id: user.id } })
  const failed = addPasskey(token, 'wrong', 'Pixel 9').catch((error: unknown) => error)
  t.match(await failed, { status: 422, errors: { password: [String] } })

  if (tools) {
    const results = await android(tools, svc.url, [token, password, typed.email])
    const [added, signedIn, refused, created, copied] = results
    t.match(added, { name: 'Pixel 9' })
    t.match(signedIn, { token: /^\d+\|/, user: { id: user.id } })
    t.match(refused, { status: 422, message: /password/, error: { errors: { password: [String] } } })
    t.match(created, { token: /^\d+\|/ }, 'a token that is bound to a key, with its proof')
    t.match(copied, { status: 401 }, 'the same token without a proof')
  }

  const { paths } = (await (await fetch(`${svc.url}/openapi.json`)).json()) as { paths: Record<string, object> }
  for (const [, method = '', path = ''] of guide.matchAll(/\b(GET|POST|DELETE) (\/[\w/{}-]+)/g))
    t.ok(method.toLowerCase() in (paths[path] ?? {}), `${method} ${path}`)
  const errors = readFileSync(resolve(import.meta.dirname, '../../docs/errors.md'), 'utf8')
  for (const [, code = ''] of guide.matchAll(/^\| \d{3} +\| `(\w+)`/gm)) t.ok(errors.includes(`## ${code}\n`), code)
})

t.test('has Swift code that fits the grammar of the language', { skip: !tools && 'no parser' }, async (t) => {
  const parse = async (source: string) => {
    const parsed = run(tools?.python ?? '', [resolve(import.meta.dirname, 'mobile/swift.py')])
    parsed.child.stdin?.end(source)
    return (await parsed).stdout
  }
  t.equal(await parse(blocks('swift').join('\n')), '')
  t.match(await parse('func broken( { return }'), 'line 1')
})
