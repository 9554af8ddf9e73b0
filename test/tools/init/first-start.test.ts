// engine: none
import t from 'tap'
import { ScriptlessBrowser } from '../../support/plain.ts'
import { freePort, runCli, startMain, temporaryDirectory } from '../../support/process.ts'
import { remoteBrowser } from '../../support/remote.ts'

t.test('starts with the written files, and the link of the administrator leads to an account', async (t) => {
  const cwd = temporaryDirectory(t)
  const url = `http://localhost:${await freePort()}`
  const words = ['init', '--yes', `--url=${url}`, '--admin=ada@example.com']
  const done = await runCli(words, { cwd })
  t.equal(done.code, 0, done.stderr)
  const [, path = ''] = /# http:\/\/localhost:\d+(\/\S+)/.exec(done.stdout) ?? []
  const again = await runCli(words, { cwd })
  t.notMatch(again.stdout, '/oauth/invitation/', 'the second run does not invite again')

  const svc = await startMain(t, { cwd, env: { PORT: new URL(url).port } })
  const browser = new ScriptlessBrowser(remoteBrowser(url, { origin: url, xsrf: false }))
  const password = 'correct horse battery'
  const accepted = await browser.send(path, { name: 'Ada', password, password_confirmation: password }, 'name')
  t.equal(accepted.statusCode, 303, accepted.body)
  t.ok(await browser.user())
  const found = await runCli(['user:show', '--email=ada@example.com'], { cwd, env: svc.env })
  t.match(JSON.parse(found.stdout), { role: 'admin', email_verified_at: String })
  const { code, stdout } = await runCli(['doctor'], { cwd, env: svc.env })
  t.equal(code, 0, stdout)
})
