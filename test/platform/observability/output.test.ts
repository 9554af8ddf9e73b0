// engine: none
import { spawn, spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import t from 'tap'

const module = new URL('../../../src/platform/observability/output.ts', import.meta.url).href
const count = 2_050

/** Writes numbered lines, 200 in each turn of the event loop, like a process whose standard output is a pipe. */
const writer = (name: string, { turn = 200, end = '', options = '{}' }) => `
  const { standardOutput } = await import(${JSON.stringify(module)})
  const output = standardOutput(${options})
  for (let i = 0; i < ${count}; i++) {
    output.write(${JSON.stringify(name)} + ' ' + i + ' ' + 'ü'.repeat(i % 100) + '\\n')
    if (i % ${turn} === ${turn - 1}) await new Promise(setImmediate)
  }
  ${end}`

/** Runs scripts that share a pipe as their standard output. It fills up, because its reader starts late. */
async function run(...scripts: string[]): Promise<string> {
  const command = scripts.map((_, i) => `"$0" --input-type=module -e "$${i + 1}" &`).join(' ')
  const shell = spawn('sh', ['-c', `{ ${command} wait; } | { sleep 0.5; cat; }`, process.execPath, ...scripts], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return text(shell.stdout)
}

const linesOf = (name: string) => Array.from({ length: count }, (_, i) => `${name} ${i} ${'ü'.repeat(i % 100)}`)

t.test('writes all lines in order', async (t) => {
  t.same((await run(writer('line', {}))).trimEnd().split('\n'), linesOf('line'))
})

t.test('writes the lines that are pending when the process exits', async (t) => {
  for (const end of ['process.exit()', 'output.flushSync(); process.exit()']) {
    const written = await run(writer('line', { turn: count + 1, end }))
    t.same(written.trimEnd().split('\n'), linesOf('line'), end)
  }
})

t.test('exits without an error when its output is gone', async (t) => {
  const script = writer('line', { turn: count + 1, end: 'output.destroy(); process.exit()' })
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  t.equal(status, 0)
  t.equal(stderr, '')
})

t.test('keeps the lines of processes apart that share a pipe', async (t) => {
  const names = ['first', 'second', 'third']
  const written = await run(...names.map((name) => writer(name, { options: '{ isShared: true }' })))
  const lines = written.trimEnd().split('\n')
  for (const name of names) {
    t.same(
      lines.filter((line) => line.startsWith(`${name} `)),
      linesOf(name),
      name,
    )
  }
  t.equal(lines.length, names.length * count)
})
