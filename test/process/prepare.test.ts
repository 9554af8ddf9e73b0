// engine: none
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { temporaryDirectory } from '../support/process.ts'

const root = dirname(dirname(import.meta.dirname))
/** Root may write everywhere, so it runs the script as another user. */
const other = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

t.test('runs for a user who cannot write to the checkout', (t) => {
  const folder = temporaryDirectory(t)
  for (const name of ['package.json', 'package-lock.json', '.dev/prepare.mjs', '.dev/production-lock.mjs'])
    cpSync(join(root, name), join(folder, name))
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  cpSync(join(root, 'node_modules/.package-lock.json'), join(modules, '.package-lock.json'))
  for (const path of [folder, modules]) chmodSync(path, 0o555)
  t.teardown(() => {
    for (const path of [folder, modules]) chmodSync(path, 0o755)
  })
  // The other user may be unable to read the folder of this Node.
  const node = join(temporaryDirectory(t), 'node')
  cpSync(process.execPath, node)
  chmodSync(dirname(node), 0o755)
  const prepare = () => {
    // Without the variables by which the test runner makes child processes write into the checkout.
    const { status, stderr } = spawnSync('env', ['-i', node, '.dev/prepare.mjs'], { ...other, cwd: folder })
    return { status, stderr: stderr.toString() }
  }
  t.strictSame(prepare(), { status: 0, stderr: '' }, 'all packages are there')

  chmodSync(modules, 0o755)
  rmSync(join(modules, '.package-lock.json'))
  const { status, stderr } = prepare()
  t.equal(status, 1)
  t.match(stderr, /^The packages of svc are missing or outdated, .* Run `npm run svc -- --version` as its owner\.\n$/)
  t.end()
})
