// engine: none
// lane: all
import { spawn, spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import t from 'tap'
import { freePort, temporaryDirectory } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'

const hasScript = spawnSync('script', ['--version']).status === 0
const main = resolve(import.meta.dirname, '../../src/main.ts')

t.test('stops when its terminal closes', { skip: hasScript ? false : 'no script(1) here' }, async (t) => {
  const cwd = temporaryDirectory(t)
  const port = await freePort()
  const env = { PATH: process.env.PATH, PORT: String(port), DATABASE_URL: `file:${join(cwd, 'svc.db')}` }
  const terminal = spawn('script', ['-qec', `exec "${process.execPath}" "${main}"`, '/dev/null'], { cwd, env })
  t.teardown(() => terminal.kill('SIGKILL'))
  const url = `http://localhost:${port}`
  const answers = () =>
    sendRequest(url, { url: '/health/live' }).then(
      ({ statusCode }) => statusCode === 200,
      () => false,
    )
  await until(answers)
  t.equal(terminal.exitCode, null, 'it listens')
  terminal.kill('SIGKILL')
  await until(async () => !(await answers()))
  t.notOk(await answers(), 'it has stopped')
})
