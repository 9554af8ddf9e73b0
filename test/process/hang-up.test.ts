// engine: none
import { spawn, spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { freePort, temporaryDirectory } from '../support/process.ts'
import { ask } from '../support/remote.ts'

// Starting processes takes its time on a busy machine.
t.setTimeout(110_000)

const hasScript = spawnSync('script', ['--version']).status === 0
const main = resolve(import.meta.dirname, '../../src/main.ts')

t.test(
  'closing the terminal that svc runs in ends it',
  { skip: hasScript ? false : 'no script(1) here' },
  async (t) => {
    const cwd = temporaryDirectory(t)
    const port = await freePort()
    const env = { PATH: process.env.PATH, PORT: String(port), DATABASE_URL: `file:${join(cwd, 'svc.db')}` }
    const terminal = spawn('script', ['-qec', `exec "${process.execPath}" "${main}"`, '/dev/null'], { cwd, env })
    t.teardown(() => terminal.kill('SIGKILL'))
    const url = `http://localhost:${port}`
    const answers = () =>
      ask(url, { url: '/health/live' }).then(
        ({ statusCode }) => statusCode === 200,
        () => false,
      )
    const until = async (wanted: boolean) => {
      for (let tries = 0; tries < 1_000; tries++) {
        if ((await answers()) === wanted) return true
        await sleep(20)
      }
      return false
    }
    t.ok(await until(true), 'it listens')
    terminal.kill('SIGKILL')
    t.ok(await until(false), 'it has ended')
  },
)
