import t from 'tap'
import { hashPassword } from '../../../src/platform/crypto/password.ts'
import { strongPassword } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { hour, second } from '../../support/clock.ts'
import { setDisabled } from '../../support/command.ts'
import { ScriptlessBrowser } from '../../support/plain.ts'
import { confirmedBrowser } from '../../support/totp.ts'
import { until } from '../../support/until.ts'

let addresses = 0

/** The status of a sign-in from a separate address. */
async function attempt(svc: TestApp, email: string, password: string): Promise<number> {
  const answer = await svc.app.inject({
    method: 'POST',
    url: '/login',
    remoteAddress: `198.51.${++addresses >> 8}.${addresses & 255}`,
    headers: { 'sec-fetch-site': 'same-origin' },
    payload: { email, password },
  })
  return answer.statusCode
}

/** Locks the account, and waits until svc has processed it after its answers. */
async function lock(svc: TestApp, email: string): Promise<void> {
  const lockouts = () => svc.database.prisma.event.count({ where: { type: 'lockout' } })
  const before = await lockouts()
  for (let i = 0; i < 60; i++) {
    if ((await attempt(svc, email, 'wrong')) === 429) return until(async () => (await lockouts()) > before)
  }
  throw new Error('The account was never locked.')
}

/** The link of the nth mail, once it was mailed. */
async function link(svc: TestApp, email: string, number: number): Promise<string> {
  await until(async () => (await links(svc, email)).length >= number)
  return (await links(svc, email))[number - 1] ?? ''
}

/** The paths of the links that were mailed to an address. */
async function links(svc: TestApp, email: string): Promise<string[]> {
  const mails = await svc.mailbox.to(email)
  return mails.flatMap(({ text }) => /http:\/\/localhost:8000(\/oauth\/unlock\/\S+)/.exec(text)?.[1] ?? [])
}

t.test('unlocks a locked account by the button of a mailed page, once', async (t) => {
  const svc = await buildTestApp(t)
  const { email, id } = await svc.createUser()
  await lock(svc, email)
  t.equal(await attempt(svc, email, 'correct horse'), 429)
  const path = await link(svc, email, 1)
  t.match(path, new RegExp(`^/oauth/unlock/${id}\\?`))
  const owner = new ScriptlessBrowser(svc)
  const scanner = new ScriptlessBrowser(svc)
  for (let i = 0; i < 3; i++) t.equal((await scanner.open(path)).statusCode, 200)
  t.equal(await attempt(svc, email, 'correct horse'), 429, 'opening the page changes nothing')
  const forged = await svc.app.inject({ method: 'POST', url: path, headers: { accept: 'text/html' } })
  t.equal(forged.statusCode, 419, 'the button is protected')

  const page = await owner.open(path)
  const [, token = ''] = /name="_token" value="([^"]*)"/.exec(page.body) ?? []
  const pressed = await owner.post(path, { _token: token })
  t.equal(pressed.statusCode, 303, pressed.body)
  t.match(pressed.headers.location, '/oauth/login')
  t.equal(await attempt(svc, email, 'correct horse'), 200, 'sign-in works from every address')
  t.equal(await svc.database.prisma.event.count({ where: { type: 'account_unlocked' } }), 1)

  for (const plain of [owner, scanner]) t.equal((await plain.open(path)).statusCode, 403, 'the link is used')
  await lock(svc, email)
  t.equal((await links(svc, email)).length, 1, 'no second mail within the hour')
  const again = await owner.send('/oauth/login', { email, password: 'correct horse' }, 'email')
  t.equal(again.statusCode, 303, 'the browser that unlocked is still known')
})

t.test('continues at the sign-in page of an application', async (t) => {
  const svc = await buildTestApp(t, { settings: { links: { login: 'https://app.example/sign-in' } } })
  const { email } = await svc.createUser()
  await lock(svc, email)
  const path = await link(svc, email, 1)
  const owner = new ScriptlessBrowser(svc)
  const [, token = ''] = /name="_token" value="([^"]*)"/.exec((await owner.open(path)).body) ?? []
  const pressed = await owner.post(path, { _token: token })
  t.equal(pressed.statusCode, 200)
  t.equal(pressed.headers.refresh, '0; url=https://app.example/sign-in?return_to=%2F')
})

t.test('expires an unlock link, binds it to the password and its user, and accepts it once in parallel', async (t) => {
  const svc = await buildTestApp(t)
  const { email, id } = await svc.createUser()
  const other = await svc.createUser()
  await lock(svc, email)
  const path = await link(svc, email, 1)
  const status = async (url: string) => (await new ScriptlessBrowser(svc).open(url)).statusCode
  t.equal(await status(path), 200)
  for (const [name, url] of Object.entries({
    'another user': path.replace(`/unlock/${id}?`, `/unlock/${other.id}?`),
    'a later end': path.replace(/expires=(\d+)/, (_, end) => `expires=${Number(end) + 1}`),
    'another signature': path.replace(/signature=(.)/, (_, first) => `signature=${first === 'A' ? 'B' : 'A'}`),
    'no signature': path.replace(/&signature=.*/, ''),
    nothing: `/oauth/unlock/${id}`,
    'an unknown user': `/oauth/unlock/999999?expires=9999999999999&signature=x`,
  })) {
    t.equal(await status(url), 403, name)
  }
  t.equal(await status('/oauth/unlock/x'), 404)
  const people = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const plain = new ScriptlessBrowser(svc)
      const page = await plain.open(path)
      return { plain, token: /name="_token" value="([^"]*)"/.exec(page.body)?.[1] ?? '' }
    }),
  )
  const answers = await Promise.all(people.map(({ plain, token }) => plain.post(path, { _token: token })))
  const statuses = answers.map(({ statusCode }) => statusCode)
  t.strictSame(statuses.sort(), [303, 403, 403, 403, 403])

  svc.clock.advance(hour)
  await lock(svc, email)
  const next = await link(svc, email, 2)
  t.equal(await status(next), 200, 'the next window sends a new mail')
  svc.clock.advance(hour - second)
  t.equal(await status(next), 200)
  svc.clock.advance(second)
  t.equal(await status(next), 403, 'after an hour')
  await lock(svc, email)
  const last = await link(svc, email, 3)
  t.equal(await status(last), 200)
  await svc.database.prisma.user.update({ where: { email }, data: { password: hashPassword(strongPassword) } })
  t.equal(await status(last), 403, 'after a change of the password')
})

t.test('mails no link to an unverified address or a disabled account', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser({ verified: false })
  await lock(svc, email)
  const { email: disabled } = await svc.createUser()
  await svc.database.prisma.user.update({ where: { email: disabled }, data: { disabledAt: new Date() } })
  await lock(svc, disabled)
  await lock(svc, 'unknown@example.com')
  t.strictSame(await svc.mailbox.all(), [])
})

t.test('rejects an unlock link after a change of the address, and while the account is disabled', async (t) => {
  const svc = await buildTestApp(t, { settings: { registration: { email_change: 'immediate' } } })
  const { email } = await svc.createUser()
  const spa = await confirmedBrowser(svc, email)
  await lock(svc, email)
  const path = await link(svc, email, 1)
  const status = async () => (await new ScriptlessBrowser(svc).open(path)).statusCode
  t.equal(await status(), 200)
  const moved = await spa.put('/user/profile-information', { name: 'Ada', email: 'new@example.com' })
  t.equal(moved.statusCode, 200, moved.body)
  t.equal(await status(), 403)
  const { email: other } = await svc.createUser()
  await lock(svc, other)
  const second = await link(svc, other, 1)
  await setDisabled(svc, other, true)
  t.equal((await new ScriptlessBrowser(svc).open(second)).statusCode, 403)
})
