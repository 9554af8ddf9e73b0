// engine: none
import t from 'tap'
import { confirmAt, openAccount } from '../../support/account-pages.ts'
import type { TestApp } from '../../support/app.ts'
import { day, hour } from '../../support/clock.ts'
import { redirectOf, ScriptlessBrowser } from '../../support/plain.ts'

const section = '/account/sessions'
const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'

/** Another device of the user. */
async function signInElsewhere(svc: TestApp, email: string, remember = false, agent = firefox) {
  const browser = svc.browser({ remoteAddress: '192.0.2.7' })
  await browser.get('/svc/csrf-cookie')
  const body = { email, password: 'correct horse', remember }
  const answer = await browser.post('/login', body, { 'user-agent': agent })
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return browser
}

const actionsOn = (body: string): string[] =>
  [...body.matchAll(/action="(\/account\/sessions\/[^"]+\/end)"/g)].map(([, action = '']) => action)
const tokenOn = (body: string): string => /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? ''

t.test('lists the devices, and signs one out', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const other = await signInElsewhere(svc, user.email)
  const unknown = await signInElsewhere(svc, user.email, false, '<script>alert(1)</script>')
  const { body } = await browser.open(section)
  t.match(body, 'Firefox on Windows')
  t.match(body, 'IP address: 192.0.2.7')
  t.match(body, /<time datetime="2026[^"]*" title="\w+ \d+, 2026 at [^"]* UTC">Last used: now</)
  t.match(body, 'Unknown browser')
  t.notMatch(body, 'alert(1)', 'never shows a user agent as it is')
  t.equal(body.match(/This device/g)?.length, 1)
  t.equal(actionsOn(body).length, 2, 'this device has the button of the menu')
  const sessions: { id: string; user_agent: string }[] = (await other.get('/user/sessions')).json()
  const id = sessions.find(({ user_agent }) => user_agent === firefox)?.id
  const ended = await browser.post(`${section}/${id}/end`, { _token: tokenOn(body) })
  t.strictSame(redirectOf(ended), [303, `${section}?done=session_ended`])
  t.match((await browser.open(`${section}?done=session_ended`)).body, 'The device is signed out.')
  t.equal((await other.get('/api/user')).statusCode, 401)
  t.equal((await unknown.get('/api/user')).statusCode, 200)
  t.equal((await browser.post(`${section}/${id}/end`, { _token: tokenOn(body) })).statusCode, 404, 'only once')
})

t.test('lists remembered devices after their session, and forgets them', async (t) => {
  const { svc, user, browser } = await openAccount(t, { session: { lifetime: '60m' } })
  const phone = await signInElsewhere(svc, user.email, true)
  const live = await browser.open(section)
  t.equal(actionsOn(live.body).length, 1, 'a device with a session is listed once')
  t.notMatch(live.body, 'Stays signed in')
  svc.clock.advance(2 * hour)
  const again = new ScriptlessBrowser(svc)
  await again.send('/oauth/login', { email: user.email, password: 'correct horse' })
  const { body } = await again.open(section)
  t.match(body, 'Stays signed in')
  t.match(body, 'Firefox on Windows')
  t.match(body, '192.0.2.7')
  const [action = ''] = actionsOn(body)
  t.match(action, /^\/account\/sessions\/devices\/\d+\/end$/)
  t.strictSame(redirectOf(await again.post(action, { _token: tokenOn(body) })), [303, `${section}?done=session_ended`])
  t.equal((await phone.get('/api/user')).statusCode, 401)
  t.notMatch((await again.open(section)).body, 'Stays signed in')
  t.equal((await again.post(action, { _token: tokenOn(body) })).statusCode, 404)
})

t.test('shows where a remembered device was last used', async (t) => {
  const { svc, user } = await openAccount(t, { session: { lifetime: '60m' } })
  const phone = await signInElsewhere(svc, user.email, true)
  svc.clock.advance(day)
  const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0 Safari/537.36'
  t.equal((await phone.get('/api/user', { 'user-agent': chrome })).statusCode, 200)
  svc.clock.advance(day)
  const browser = new ScriptlessBrowser(svc)
  await browser.send('/oauth/login', { email: user.email, password: 'correct horse' })
  t.match((await browser.open(section)).body, 'Chrome on Linux')
})

t.test('signs out all other devices after the password', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  t.notMatch((await browser.open(section)).body, 'id="end-others"', 'without others')
  const other = await signInElsewhere(svc, user.email, true)
  t.match((await browser.open(section)).body, `id="end-others" href="${section}/others"`)
  const _token = tokenOn((await browser.open(section)).body)
  const early = await browser.post(`${section}/others`, { _token })
  t.strictSame(redirectOf(early), [303, '/account/confirm?return_to=%2Faccount%2Fsessions'])
  t.equal((await other.get('/api/user')).statusCode, 200)
  await confirmAt(t, browser, `${section}/others`)
  const ended = await browser.press(`${section}/others`, 'others-submit')
  t.strictSame(redirectOf(ended), [303, `${section}?done=sessions_ended`])
  t.equal((await other.get('/api/user')).statusCode, 401)
  t.equal(await browser.user(), user.id)
  t.equal(actionsOn((await browser.open(section)).body).length, 0)
  t.equal(await svc.database.prisma.rememberToken.count(), 0)
})

t.test("answers 404 for other users' devices, and rejects forms of other sites", async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const victim = await svc.createUser()
  const theirs = await signInElsewhere(svc, victim.email, true)
  const own = await signInElsewhere(svc, user.email, true)
  const [session] = (await theirs.get('/user/sessions')).json()
  const device = await svc.database.prisma.rememberToken.findFirstOrThrow({ where: { userId: BigInt(victim.id) } })
  const _token = tokenOn((await browser.open(section)).body)
  for (const id of [session.id, 'x', 'A'.repeat(43), `devices/${device.id}`, 'devices/0', `devices/${'9'.repeat(18)}`])
    t.equal((await browser.post(`${section}/${id}/end`, { _token })).statusCode, 404, id)
  t.equal((await theirs.get('/api/user')).statusCode, 200)
  const [ownSession] = (await own.get('/user/sessions')).json()
  for (const path of [`${ownSession.id}/end`, `devices/${device.id}/end`, 'others'])
    t.equal((await browser.post(`${section}/${path}`, {})).statusCode, 419, path)
  t.equal((await own.get('/api/user')).statusCode, 200)
})

t.test('signs this device out if its own form is sent', async (t) => {
  const { browser } = await openAccount(t)
  const { body } = await browser.open(section)
  const [session] = (await browser.browser.get('/user/sessions')).json()
  const answer = await browser.post(`${section}/${session.id}/end`, { _token: tokenOn(body) })
  t.strictSame(redirectOf(answer), [303, '/?signed_out=1'])
  t.equal(await browser.user(), null)
})

t.test('hides the section if the configuration does', async (t) => {
  const { browser } = await openAccount(t, { account: { sections: ['profile'] } })
  for (const path of [section, `${section}/others`]) t.equal((await browser.open(path)).statusCode, 404, path)
})
