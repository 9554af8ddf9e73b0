// engine: none
import t, { type Test } from 'tap'
import { confirmAt, openAccount } from '../../support/account-pages.ts'
import type { TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { challenged, codeAt, wrongCode } from '../../support/totp.ts'

const section = '/account/two-factor'
const setup = `${section}/setup`
const codesPath = `${section}/recovery-codes`

const secretOn = (body: string): string =>
  /<code id="secret-key">((?:[A-Z2-7]{4} ?){8})<\/code>/.exec(body)?.[1]?.replaceAll(' ', '') ?? ''
const codesOn = (body: string): string[] =>
  [...body.matchAll(/<li><code>(\w{10}-\w{10})<\/code>/g)].map(([, code = '']) => code)
const hasFactor = async ({ browser }: ScriptlessBrowser) =>
  (await browser.get('/api/user')).json().two_factor_enabled as boolean

/** Sets the second factor up with the pages, and returns its secret and recovery codes. */
async function setUp(t: Test, svc: TestApp, browser: ScriptlessBrowser) {
  await confirmAt(t, browser, setup)
  await browser.press(setup, 'start-two-factor')
  const secret = secretOn((await browser.open(setup)).body)
  const shown = await browser.send(setup, { code: codeAt(secret, svc.clock.now()) })
  t.equal(shown.statusCode, 200)
  svc.clock.advance(minute)
  return { secret, codes: codesOn(shown.body), shown }
}

t.test('starts the setup by a link on its own pages, and by no link of another site', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  await confirmAt(t, browser, setup)
  const secretOf = async () =>
    (await svc.database.prisma.user.findUnique({ where: { id: BigInt(user.id) } }))?.twoFactorSecret ?? null
  const own = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  for (const changed of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': undefined },
    { 'sec-fetch-mode': 'no-cors' },
    { 'sec-fetch-dest': 'image' },
    { 'sec-purpose': 'prefetch' },
  ]) {
    const { body } = await browser.open(setup, { ...own, ...changed })
    t.match(body, 'id="start-two-factor"', JSON.stringify(changed))
    t.equal(await secretOf(), null, JSON.stringify(changed))
  }
  const { body } = await browser.open(setup, own)
  t.ok(secretOn(body))
  t.equal(secretOn((await browser.open(setup, own)).body), secretOn(body), 'and keeps it')
})

t.test('sets up an authenticator app, and shows the recovery codes once', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  t.match((await browser.open(section)).body, `id="set-up-two-factor" href="${setup}"`)
  await confirmAt(t, browser, setup)
  t.notMatch((await browser.open(setup)).body, 'id="secret-key"', 'opening the page creates no secret')
  t.match((await browser.open(section)).body, 'Set up</a>')
  t.strictSame(redirectOf(await browser.press(setup, 'start-two-factor')), [303, setup])
  const page = await browser.open(setup)
  const secret = secretOn(page.body)
  t.match(page.body, /<svg[^>]*viewBox.*<\/svg>/s)
  t.match(page.body, `secret=${secret}`)
  t.equal(page.headers['cache-control'], 'no-store')
  t.match((await browser.open(section)).body, 'Continue the setup')

  const other = new ScriptlessBrowser(svc)
  await other.send('/oauth/login', credentials(user.email))
  for (const code of ['', 'abc', '12345', wrongCode(secret, svc.clock.now())]) {
    const answer = await browser.send(setup, { code })
    t.equal(answer.statusCode, 422, code)
    t.match(answer.body, 'The provided two factor authentication code was invalid.')
    t.equal(secretOn(answer.body), secret, 'the page shows the same secret again')
  }
  t.equal(await hasFactor(browser), false)
  const code = codeAt(secret, svc.clock.now())
  const shown = await browser.send(setup, { code: `${code.slice(0, 3)} ${code.slice(3)}` })
  t.equal(shown.statusCode, 200)
  t.equal(shown.headers['cache-control'], 'no-store')
  t.match(shown.body, `<p class="paper">${user.email}</p>`, 'names the account on paper')
  const codes = codesOn(shown.body)
  t.equal(new Set(codes).size, 8)
  t.equal(await hasFactor(browser), true)
  t.equal(await other.user(), null, 'ends the other sessions')

  const after = await browser.open(section)
  t.match(after.body, 'Unused codes: 8')
  for (const path of [section, codesPath, '/account']) {
    const { body } = await browser.open(path)
    for (const secretText of [secret, ...codes]) t.notOk(body.includes(secretText), `${path} shows no secret`)
  }
  t.strictSame(redirectOf(await browser.open(setup)), [303, section], 'a confirmed secret is never shown again')
  const visitor = await challenged(svc, user.email)
  t.equal((await visitor.post('/two-factor-challenge', { recovery_code: codes[2] })).statusCode, 204)
  t.match((await browser.open(section)).body, 'Unused codes: 7')
})

t.test('shows the number of unused codes that the user has received', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const { codes } = await setUp(t, svc, browser)
  for (const code of codes.slice(0, 6)) {
    const visitor = await challenged(svc, user.email)
    t.equal((await visitor.post('/two-factor-challenge', { recovery_code: code })).statusCode, 204)
  }
  const low = (await browser.open(section)).body
  t.match(low, 'Unused codes: 2')
  t.match(low, 'You have few codes left.')
  // The API shows the replacements, and they work.
  const current: string[] = (await browser.browser.get('/user/two-factor-recovery-codes')).json()
  t.equal(current.length, 8)
  const fresh = current.find((code) => !codes.includes(code))
  const visitor = await challenged(svc, user.email)
  t.equal((await visitor.post('/two-factor-challenge', { recovery_code: fresh })).statusCode, 204)
  t.match((await browser.open(section)).body, 'Unused codes: 2')
  const renewed = codesOn((await browser.press(codesPath, 'codes-submit')).body)
  t.equal(renewed.filter((code) => !current.includes(code)).length, 8)
  t.match((await browser.open(section)).body, 'Unused codes: 8')
})

t.test('downloads the recovery codes only from the page that shows them', async (t) => {
  const { svc, user, browser } = await openAccount(t, { app: { name: 'Acme' } })
  const { codes, shown } = await setUp(t, svc, browser)
  const hidden = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(shown.body)?.[1] ?? ''
  const form = { _token: hidden('_token'), codes: hidden('codes') }
  const file = await browser.post(`${codesPath}/download`, form)
  t.equal(file.statusCode, 200)
  t.match(file.headers, {
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': 'attachment; filename="recovery-codes.txt"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  t.equal(file.body, ['Acme', user.email, '', ...codes, ''].join('\r\n'))
  for (const wrong of ['', 'x', `${form.codes} x`, '<script>', codes.slice(1).join(' ')]) {
    const answer = await browser.post(`${codesPath}/download`, { ...form, codes: wrong })
    t.equal(answer.statusCode, 422, wrong)
    for (const code of codes) t.notOk(answer.body.includes(code))
  }
  await browser.press(codesPath, 'codes-submit')
  t.equal((await browser.post(`${codesPath}/download`, form)).statusCode, 422, 'replaced codes')
})

t.test('turns two-factor authentication off after a question', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  await setUp(t, svc, browser)
  const path = `${section}/disable`
  t.match((await browser.open(path)).body, 'Your recovery codes stop working.')
  t.equal(await hasFactor(browser), true)
  t.strictSame(redirectOf(await browser.press(path, 'disable-submit')), [303, `${section}?done=two_factor_disabled`])
  t.match((await browser.open(`${section}?done=two_factor_disabled`)).body, 'Two-factor authentication is off.')
  t.equal(await hasFactor(browser), false)
  t.equal((await svc.browser().signIn(user.email)).json().two_factor, false)
  t.strictSame(redirectOf(await browser.open(codesPath)), [303, section])
})

t.test('restarts an unfinished setup, and never replaces a confirmed factor', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  await confirmAt(t, browser, setup)
  await browser.press(setup, 'start-two-factor')
  const first = await browser.open(setup)
  // A second tab creates nothing new, until it starts over.
  await browser.post(setup, { _token: /name="_token" value="([^"]*)"/.exec(first.body)?.[1] ?? '' })
  t.equal(secretOn((await browser.open(setup)).body), secretOn(first.body))
  t.strictSame(redirectOf(await browser.press(setup, 'restart-two-factor')), [303, setup])
  const second = secretOn((await browser.open(setup)).body)
  t.not(second, secretOn(first.body))
  const old = await browser.send(setup, { code: codeAt(secretOn(first.body), svc.clock.now()) })
  t.equal(old.statusCode, 422)
  t.equal(secretOn(old.body), second, 'shows the current secret')
  const { body } = await browser.open(setup)
  const token = /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? ''
  t.equal((await browser.send(setup, { code: codeAt(second, svc.clock.now()) })).statusCode, 200)
  t.strictSame(redirectOf(await browser.post(setup, { _token: token, restart: '1' })), [303, setup])
  t.equal(await hasFactor(browser), true, 'a stale form does not disable the second factor')
  svc.clock.advance(minute)
  const late = await browser.post(`${section}/confirm`, { _token: token, code: codeAt(second, svc.clock.now()) })
  t.strictSame(redirectOf(late), [303, section])
  await challenged(svc, user.email)
})

t.test('keeps the second factor if a restart and its confirmation race', async (t) => {
  const { svc, browser } = await openAccount(t)
  await confirmAt(t, browser, setup)
  await browser.press(setup, 'start-two-factor')
  const { body } = await browser.open(setup)
  const form = { _token: /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? '' }
  const code = codeAt(secretOn(body), svc.clock.now())
  const [confirmed, restarted] = await Promise.all([
    browser.post(`${section}/confirm`, { ...form, code }),
    browser.post(setup, { ...form, restart: '1' }),
  ])
  t.strictSame(redirectOf(restarted), [303, setup])
  t.ok([200, 422].includes(confirmed.statusCode))
  t.equal(await hasFactor(browser), confirmed.statusCode === 200)
})

t.test('asks for the password first, and again when the confirmation expires', async (t) => {
  const { svc, browser } = await openAccount(t, { passwords: { confirm_timeout: '10m' } })
  const { codes } = await setUp(t, svc, browser)
  const { body } = await browser.open(`${section}/disable`)
  const form = { _token: /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? '' }
  svc.clock.advance(11 * minute)
  const asks = '/account/confirm?return_to=%2Faccount%2Ftwo-factor'
  for (const path of ['setup', 'confirm', 'disable', 'recovery-codes', 'recovery-codes/download'])
    t.strictSame(redirectOf(await browser.post(`${section}/${path}`, { ...form, codes: codes.join(' ') })), [303, asks])
  for (const path of ['setup', 'disable', 'recovery-codes'])
    t.strictSame(redirectOf(await browser.open(`${section}/${path}`)), [303, `${asks}%2F${path}`])
  t.equal(await hasFactor(browser), true)
  await confirmAt(t, browser, codesPath)
  t.equal((await browser.open(codesPath)).statusCode, 200)
})

t.test('limits wrong codes, and keeps secrets out of the logs', async (t) => {
  const { svc, browser } = await openAccount(t)
  const { secret, codes } = await setUp(t, svc, browser)
  t.ok(svc.logs.length > 0)
  for (const text of [secret, ...codes]) t.notOk(svc.logs.join('').includes(text))
  const other = await svc.createUser()
  const guest = new ScriptlessBrowser(svc)
  await guest.send('/oauth/login', credentials(other.email))
  await confirmAt(t, guest, setup)
  await guest.press(setup, 'start-two-factor')
  const wrong = wrongCode(secretOn((await guest.open(setup)).body), svc.clock.now())
  const statuses: number[] = []
  for (let tries = 0; tries < 8; tries++) statuses.push((await guest.send(setup, { code: wrong })).statusCode)
  t.equal(statuses[0], 422)
  t.equal(statuses.at(-1), 429)
})

t.test('hides the section without two-factor authentication, and rejects forms of other sites', async (t) => {
  const off = await openAccount(t, { two_factor: { enabled: false } })
  t.notMatch((await off.browser.open('/account')).body, section)
  const hidden = await openAccount(t, { account: { sections: ['profile'] } })
  for (const { browser } of [off, hidden])
    for (const path of [section, setup, codesPath, `${section}/disable`])
      t.equal((await browser.open(path)).statusCode, 404, path)
  const { svc, browser } = await openAccount(t)
  await setUp(t, svc, browser)
  for (const path of ['setup', 'confirm', 'disable', 'recovery-codes', 'recovery-codes/download'])
    t.equal((await browser.post(`${section}/${path}`, { restart: '1' })).statusCode, 419, path)
  t.equal(await hasFactor(browser), true)
})
