// engine: none
// lane: all
// process: own
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { temporaryDirectory } from '../../../test/support/process.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../../..')
const typescript = join(root, 'node_modules/typescript/bin/tsc')

/** Code of an app: what compiles, and what the types reject. */
const app = `import { createClient, type ResultOf, SvcError, type User } from '@svc/client'
const svc = createClient({ baseUrl: 'https://id.example.com', token: () => null })
export async function calls() {
  const login = await svc.login({ email: 'a@b.c', password: 'x' })
  if (!login.two_factor) login.user.email satisfies string
  const user: User = await svc.user({ signal: AbortSignal.timeout(1000) })
  user.id satisfies number
  const tokens: ResultOf<'GET', '/api/tokens'> = await svc.request('GET', '/api/tokens')
  tokens[0]?.abilities satisfies string[] | undefined
  ;(await svc.request('DELETE', '/oauth/tokens/{id}', { path: { id: 'x' } })) satisfies undefined
  await svc.request('GET', '/auth/{provider}/redirect', { path: { provider: 'github' }, query: { return_to: '/' } })
  // @ts-expect-error no such path
  await svc.request('GET', '/nothing')
  // @ts-expect-error no such method
  await svc.request('PATCH', '/login')
  // @ts-expect-error the path has a parameter
  await svc.request('DELETE', '/oauth/tokens/{id}')
  // @ts-expect-error the body is required
  await svc.request('POST', '/login')
  // @ts-expect-error the password is missing
  await svc.login({ email: 'a@b.c' })
}
export const isKnown = (error: unknown) => error instanceof SvcError && error.code === 'unauthenticated'
`

t.test('packs modules with types and without dependencies, which compile and run in an app', async (t) => {
  const folder = temporaryDirectory(t)
  await run('npm', ['pack', '--workspace', '@svc/client', '--pack-destination', folder], { cwd: root })
  const [archive = ''] = readdirSync(folder)
  const installed = join(folder, 'node_modules/@svc/client')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', join(folder, archive), '-C', installed, '--strip-components=1'])
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  t.same(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }), [])
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  t.equal(manifest.version, version, 'the version of svc')
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((file) => file.includes('.'))
  t.same(
    files.filter((file) => !/^(dist\/[\w-]+\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(file)),
    [],
  )

  writeFileSync(join(folder, 'app.ts'), app)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  symlinkSync(join(root, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'))
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--target', 'es2022', 'app.ts']
  for (const platform of [
    ['--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2022,dom', '--types', ''],
    ['--module', 'nodenext', '--lib', 'es2022', '--types', 'node', '--skipLibCheck'],
  ]) {
    const compiled = await run(process.execPath, [typescript, ...platform, ...strict], { cwd: folder }).catch(String)
    t.match(compiled, { stdout: '' }, platform.join(' '))
  }
  const script = "import { createClient } from '@svc/client'; console.log(typeof createClient({}).login)"
  t.equal((await run(process.execPath, ['--eval', script], { cwd: folder })).stdout, 'function\n')
})
