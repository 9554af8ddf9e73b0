// engine: none
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

/** Code of an API: what compiles, and what the types reject. */
const app = `import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { Guard, GuardError } from '@svc/guard'
import * as onExpress from '@svc/guard/express'
import * as onFastify from '@svc/guard/fastify'
import * as onFetch from '@svc/guard/fetch'
import * as onHono from '@svc/guard/hono'
import { actingAs, testOptions } from '@svc/guard/testing'

const options: onFastify.GuardOptions = { issuer: 'https://id.example.com', audience: 'https://orders.example.com' }
export const api = fastify()
await api.register(onFastify.guard({ ...options, ...(await testOptions()) }))
api.get('/', { onRequest: onFastify.abilities('orders:read') }, async ({ caller }) => caller.id satisfies string)
// @ts-expect-error the guard alone sets the caller
api.get('/x', async (request) => { request.caller = null })

const onNode = express()
onNode.use(onExpress.guard(options))
onNode.get('/', onExpress.role('staff'), (request, response) => { response.json(request.caller.role satisfies string | null) })

const onWeb = new Hono()
onWeb.use(onHono.guard(options))
onWeb.get('/', onHono.ability('a', 'b'), (context) => context.json(context.var.caller.can('a') satisfies boolean))

const handler = onFetch.guard(options)
type NextContext = { params: Promise<{ id: string }> }
export const GET: (request: Request, context: NextContext) => Promise<Response> = handler(
  async (_request: Request, { caller, params }: NextContext & { caller: onFetch.Caller }) => Response.json([caller.id, (await params).id]),
  onFetch.abilities('orders:read'),
)
// @ts-expect-error the audience is required
export const withoutAudience = () => new Guard({ issuer: 'https://id.example.com' })
// @ts-expect-error not an algorithm of svc
export const withHmac = () => new Guard({ ...options, algorithms: ['HS256'] })
export const isGuardError = (error: unknown) => error instanceof GuardError && error.status === 401
const { statusCode } = await api.inject({ url: '/', headers: await actingAs({ id: 7, abilities: ['orders:read'] }) })
console.log(statusCode)
`

t.test('packs modules with types that depend on jose only, and that compile and run in an API', async (t) => {
  const folder = temporaryDirectory(t)
  await run('npm', ['pack', '--workspace', '@svc/guard', '--pack-destination', folder], { cwd: root })
  const [archive = ''] = readdirSync(folder)
  const modules = join(folder, 'node_modules')
  const installed = join(modules, '@svc/guard')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', join(folder, archive), '-C', installed, '--strip-components=1'])
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  t.same(Object.keys(manifest.dependencies), ['jose'])
  const isOptional = (name: string) => manifest.peerDependenciesMeta[name]?.optional === true
  t.ok(Object.keys(manifest.peerDependencies).every(isOptional), 'the peers only bring their types')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  t.equal(manifest.version, version, 'the version of svc')
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((file) => file.includes('.'))
  t.same(
    files.filter((file) => !/^(dist\/[\w-]+\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(file)),
    [],
  )

  writeFileSync(join(folder, 'app.ts'), app)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  for (const name of ['@types', 'express', 'fastify', 'hono', 'jose']) {
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', '--target', 'es2022', '--types', 'node']
  const compiled = await run(process.execPath, [typescript, '--module', 'nodenext', ...strict, 'app.ts'], {
    cwd: folder,
  }).catch(String)
  t.match(compiled, { stdout: '' })
  t.equal((await run(process.execPath, ['app.js'], { cwd: folder })).stdout, '200\n')
})
