// lane: all
// engine: postgresql
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const cwd = resolve(import.meta.dirname, '../..')

/** The output of a simulation. A violation fails the command. */
async function simulate(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['test/simulate/run.ts', ...args], { cwd })
  return stdout
}

t.test('ten seeds violate nothing', async (t) => {
  const output = await simulate('--seed=1', '--seeds=10', '--steps=700')
  t.equal(output.match(/: \d+ lines, 0 violations$/gm)?.length, 10, output)
})

t.test('a seed always leads to the same order of statements', async (t) => {
  const [first, second] = [await simulate('--seed=4', '--trace'), await simulate('--seed=4', '--trace')]
  t.ok(first.split('\n').length > 1_000)
  t.equal(first, second)
})
