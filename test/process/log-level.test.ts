// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runMain, startMain, temporaryDirectory } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'

t.test('changes the level when the configuration is reloaded', async (t) => {
  const cwd = temporaryDirectory(t)
  const file = join(cwd, 'svc.yaml')
  writeFileSync(file, 'log: { level: info }\n')
  const svc = await startMain(t, { cwd, env: { SVC_CONFIG: 'svc.yaml' } })
  await sendRequest(svc.url, { url: '/api/user' })
  await svc.printed(/"msg":"request"/)
  // The line about a key that needs a restart has the level warn, so it shows that the reload is complete.
  writeFileSync(file, 'log: { level: warn }\nserver: { drain: 1s }\n')
  await svc.printed(/restart required for server\.drain/)
  const count = () => svc.stdout().split('"msg":"request"').length
  const before = count()
  await sendRequest(svc.url, { url: '/api/user' })
  const { code, stdout } = await svc.stop()
  t.equal(code, 0)
  t.equal(count(), before)
  t.notMatch(stdout, 'svc has stopped')
})

t.test('logs why it stops, and how long that took', async (t) => {
  const svc = await startMain(t)
  const { stdout } = await svc.stop()
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'))
  t.match(lines.map((line) => JSON.parse(line)).slice(-2), [
    { level: 'info', signal: 'SIGTERM', msg: 'svc received SIGTERM and stops' },
    { level: 'info', ms: Number, msg: /^svc has stopped after \d+\.\d s$/ },
  ])
})

t.test('refuses an unknown level', async (t) => {
  const { code, stderr } = await runMain(t, { env: { LOG_LEVEL: 'verbose' } })
  t.equal(code, 78)
  t.match(stderr, /LOG_LEVEL.*(fatal, error, warn, info, debug, trace|silent)/)
})
