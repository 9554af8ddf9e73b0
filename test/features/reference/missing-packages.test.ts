// engine: none
// process: own
import Module from 'node:module'
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'

/** How Node resolves the packages that a file names. */
const resolver = Module as unknown as { _resolveFilename(name: string, ...others: unknown[]): string }

t.test('answers 404 without the development packages, and names the remedy', async (t) => {
  const resolve = resolver._resolveFilename
  resolver._resolveFilename = function (name, ...others) {
    if (name.startsWith('swagger-ui-dist')) throw Object.assign(new Error(name), { code: 'MODULE_NOT_FOUND' })
    return Reflect.apply(resolve, this, [name, ...others])
  }
  t.teardown(() => {
    resolver._resolveFilename = resolve
  })
  const svc = await buildTestApp(t)
  for (const path of ['/docs', '/docs/swagger-ui.css']) {
    const answer = await svc.app.inject({ url: path, headers: { accept: 'application/json' } })
    t.equal(answer.statusCode, 404, path)
    t.match(answer.json(), { code: 'not_found', message: /npm run dev/ })
  }
})
