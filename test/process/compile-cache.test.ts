// engine: none
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { temporaryDirectory } from '../support/process.ts'
import { root } from '../support/sources.ts'

/** Whether Node loaded its TypeScript compiler for `npm run svc -- help`. */
function loadsCompiler(cwd: string): boolean {
  const report = `process.once('exit', () => console.error(process.moduleLoadList.some((name) => /amaro/.test(name))))`
  const args = [`--import=data:text/javascript,${encodeURIComponent(report)}`, join(root, '.dev/svc.mjs'), 'help']
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  })
  if (status !== 0) throw new Error(stderr)
  return stderr.includes('true')
}

t.test('starts from the sources without the TypeScript compiler, once their modules are cached', async (t) => {
  const cwd = temporaryDirectory(t)
  // The first start fills the cache.
  loadsCompiler(cwd)
  t.notOk(loadsCompiler(cwd))
})
