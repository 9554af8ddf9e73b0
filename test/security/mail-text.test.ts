// engine: none
import t from 'tap'
import { browserName } from '../../src/identity/browser-name.ts'
import { registration, strongPassword, visitor } from '../support/accounts.ts'
import { buildTestApp } from '../support/app.ts'

t.test('mails no attacker-chosen text to a foreign address', async (t) => {
  const svc = await buildTestApp(t)
  const attacker = await visitor(svc)
  const agent = { 'user-agent': 'Your account was hacked, call +1 555 0100 or visit https://evil.example/help now' }
  const name = 'Visit https://evil.example'
  const victim = 'victim@example.com'
  t.equal((await attacker.post('/register', registration(victim, { name }), agent)).statusCode, 201)
  t.equal((await attacker.post('/user/confirm-password', { password: strongPassword }, agent)).statusCode, 201)
  await attacker.post('/user/two-factor-authentication', {}, agent)
  const moved = await attacker.put('/user/profile-information', { name, email: 'x@example.org' }, agent)
  t.equal(moved.statusCode, 200)
  t.equal((await attacker.put('/user/profile-information', { name, email: victim }, agent)).statusCode, 200)
  t.equal((await svc.mailbox.to(victim)).length, 2, 'a verification for the registration, and one for the change')
  t.equal((await attacker.send('DELETE', '/user', undefined, agent)).statusCode, 200)
  const mails = await svc.mailbox.to(victim)
  t.notMatch(mails.map(({ raw }) => raw).join('\n'), /evil|hacked|555/)
})

t.test('names known browsers in mails', async (t) => {
  const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'
  const names = [
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`,
      'Edge on Windows',
    ],
    [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${webkit} Chrome/140.0.0.0 Safari/537.36`, 'Chrome on ChromeOS'],
    [`Mozilla/5.0 (Linux; Android 15; Pixel 9) ${webkit} Chrome/140.0.0.0 Mobile Safari/537.36`, 'Chrome on Android'],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1',
      'Safari on iOS',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15',
      'Safari on macOS',
    ],
    ['okhttp/4.12.0', 'An app'],
    ['curl/8.5.0', null],
  ] as const
  for (const [agent, name] of names) t.equal(browserName(agent), name)
})
