// lane: all
// engine: postgresql
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const cwd = resolve(import.meta.dirname, '../..')

t.test('ten seeds violate nothing', async (t) => {
  const args = ['test/simulate/run.ts', '--seed=1', '--seeds=10', '--steps=700']
  // A violation fails the command.
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd })
  t.equal(stdout.match(/: \d+ lines, 0 violations$/gm)?.length, 10, stdout)
})
