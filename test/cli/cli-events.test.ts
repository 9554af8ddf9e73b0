// engine: none
import t from 'tap'
import { ada, startWithAda } from '../support/listening.ts'
import { runCli, startCli } from '../support/process.ts'
import { robot } from '../support/reloading.ts'
import { remoteBrowser } from '../support/remote.ts'
import { until } from '../support/until.ts'

t.test('follows the events of a running server, and shows a client without its secret', async (t) => {
  const svc = await startWithAda(t, {}, { clients: [robot('robot')] })
  const { child, ended, output } = await startCli(t, ['event:list', '--follow', '--json'], svc)
  const events = () =>
    output.stdout
      .split(/(?<=\n)/)
      .filter((line) => line.endsWith('\n'))
      .map((line) => JSON.parse(line))
  t.match(events()[0], { type: 'user_created' }, 'what happened before')
  await remoteBrowser(svc.url, { url: svc.url }).signIn(ada.email, ada.password)
  await until(() => events().some(({ type }) => type === 'login'))
  await remoteBrowser(svc.url, { url: svc.url }).signIn('ada@example.net', 'a-password-typed-there')
  await until(() => events().some(({ type }) => type === 'login_failed'))
  t.match(
    events().find(({ type }) => type === 'login_failed'),
    { outcome: 'failure', ip_address: '127.0.0.1', user_id: null },
  )
  const ids = events().map(({ id }) => id)
  t.equal(new Set(ids).size, ids.length, 'each event once')
  t.notMatch(output.stdout, /ada@example\.net|typed-there/)
  child.kill('SIGINT')
  await ended
  t.equal(output.stderr, '')

  const shown = await runCli(['client:show', 'robot', '--json'], svc)
  t.equal(shown.code, 0, shown.stderr)
  t.match(JSON.parse(shown.stdout), { client_id: 'robot', type: 'confidential', grants: ['client_credentials'] })
  t.notMatch(shown.stdout, /a-secret-that-is-long-enough/)
  t.match(await runCli(['client:show', 'nobody'], svc), { code: 1, stdout: '', stderr: /nobody/ })
  t.match(await runCli(['client:show'], svc), { code: 1, stderr: /<client_id> is missing/ })
})
