// engine: none
import t, { type Test } from 'tap'
import {
  addAccount,
  confirmAt,
  formsOn,
  hides,
  openAccount,
  press,
  rejectsForgeries,
} from '../../support/account-pages.ts'
import { confirming, type Settings } from '../../support/app.ts'
import { day } from '../../support/clock.ts'
import { redirectOf, type ScriptlessBrowser } from '../../support/plain.ts'

const path = '/account/tokens'
const newPath = `${path}/new`
const forms = /^\/account\/tokens\/\d+\/revoke$/
const scopes = { 'orders:read': 'See your orders', 'orders:write': 'Change your orders' }

/** Creates a token, and returns the plain text that the page shows. */
async function create(t: Test, browser: ScriptlessBrowser, typed: Record<string, string>): Promise<string> {
  const answer = await browser.send(newPath, typed, 'name')
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(answer.headers['cache-control'], 'no-store')
  return /id="token" value="([^"]+)"/.exec(answer.body)?.[1] ?? ''
}

t.test('creates a token with chosen abilities and expiry, shows it once, and revokes it', async (t) => {
  const { svc, user, browser } = await openAccount(t, { scopes })
  t.match((await browser.open(path)).body, 'You have no API tokens.')
  const page = (await browser.open(newPath)).body
  for (const words of ['value="*"', 'See your orders', 'Change your orders', '30 days', 'value="90" selected'])
    t.match(page, words)
  const token = await create(t, browser, { name: 'Backup', 'abilities[]': 'orders:read', lifetime: '30' })
  const bearer = await svc.bearer(token, 'GET', '/api/tokens/current')
  t.match(bearer.json(), { name: 'Backup', abilities: ['orders:read'] })
  t.equal(Date.parse(bearer.json().expires_at), svc.clock.now() + 30 * day)
  const secret = token.split('|')[1] ?? token
  for (const shown of [path, newPath, '/account', `${path}?done=token_revoked`])
    t.notMatch((await browser.open(shown)).body, secret, 'shown once')
  const { prisma } = svc.database
  const rows = [await prisma.personalAccessToken.findMany(), await prisma.session.findMany()]
  const events = await prisma.event.findMany({ where: { userId: BigInt(user.id) } })
  const stored = JSON.stringify([...rows, events], (_key, value) => (typeof value === 'bigint' ? String(value) : value))
  t.notOk(stored.includes(secret), 'the database has only its hash')
  t.match(
    events.map(({ type }) => type),
    ['login', 'token_created'],
  )

  const list = (await browser.open(path)).body
  for (const words of ['Backup', 'orders:read', 'Expires on ', /Last used: |Never used/]) t.match(list, words)
  const [action = ''] = formsOn(list, forms)
  await rejectsForgeries(t, browser, action)
  await rejectsForgeries(t, browser, newPath)
  const stranger = await addAccount(t, svc)
  t.equal((await press(stranger.browser, path, action)).statusCode, 404, 'not for other users')
  t.notMatch((await stranger.browser.open(path)).body, 'Backup')
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200)
  t.strictSame(redirectOf(await press(browser, path, action)), [303, `${path}?done=token_revoked`])
  t.match((await browser.open(`${path}?done=token_revoked`)).body, 'The token is revoked.')
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401)
  for (const gone of [action, `${path}/0/revoke`, `${path}/x/revoke`, `${path}/9223372036854775808/revoke`])
    t.equal((await press(browser, path, gone)).statusCode, 404, gone)
})

t.test('shows an invalid form again with the reason, and creates nothing', async (t) => {
  const { svc, browser } = await openAccount(t, { scopes })
  const typed = { name: 'Backup', 'abilities[]': '*', lifetime: '30' }
  const cases: [Record<string, string>, string][] = [
    [{ name: '' }, 'The token name field is required.'],
    [{ name: 'x'.repeat(256) }, 'The token name field must not be greater than 255 characters.'],
    [{ name: 'Back\u202eup' }, 'The token name field contains characters that are not allowed.'],
    [{ 'abilities[]': 'admin' }, 'The selected abilities is invalid.'],
    [{ 'abilities[]': '' }, 'Choose at least one permission.'],
    [{ lifetime: '31' }, 'The selected expires at is invalid.'],
    [{ lifetime: '99999' }, 'The selected expires at is invalid.'],
  ]
  for (const [change, message] of cases) {
    const answer = await browser.send(newPath, { ...typed, ...change }, 'name')
    t.equal(answer.statusCode, 422)
    t.match(answer.body, message)
  }
  const again = (await browser.send(newPath, { ...typed, name: '', 'abilities[]': 'orders:read' }, 'name')).body
  t.match(again, /value="orders:read" checked/)
  t.match(again, /value="30" selected/)
  const nested = { 'abilities[a][b]': 'x', 'abilities[][]': 'x', name: 'Backup', lifetime: '30' }
  t.equal((await browser.send(newPath, nested, 'name')).statusCode, 422)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('asks for the password before it creates a token, with tokens.confirm_password', async (t) => {
  const { svc, browser } = await openAccount(t, { ...confirming, tokens: { confirm_password: true } })
  const { body } = await browser.open(path)
  const _token = /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? ''
  const typed = { name: 'Backup', 'abilities[]': '*' }
  t.equal((await browser.post(newPath, { _token, ...typed })).statusCode, 303)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
  await confirmAt(t, browser, newPath)
  const token = await create(t, browser, typed)
  t.same((await svc.bearer(token, 'GET', '/api/tokens/current')).json().abilities, ['*'])
})

t.test('offers only lifetimes within the maximum age of tokens', async (t) => {
  const { browser } = await openAccount(t, { expiration: '30d' })
  const { body } = await browser.open(newPath)
  t.same(
    [...body.matchAll(/<option value="(\d*)"/g)].map(([, days]) => days),
    ['7', '30', ''],
  )
  t.match(body, 'Maximum: ')
  t.equal((await browser.send(newPath, { name: 'x', 'abilities[]': '*', lifetime: '90' }, 'name')).statusCode, 422)
  await create(t, browser, { name: 'Short', 'abilities[]': '*', lifetime: '' })
  t.match((await browser.open(path)).body, 'Expires on ', 'the maximum age counts')
})

t.test('escapes names and abilities, and shows many tokens on several pages', async (t) => {
  const { svc, user, browser } = await openAccount(t)
  const evil = '"><script>alert(1)</script>'
  const now = new Date(svc.clock.now())
  for (let index = 0; index < 60; index++) {
    const facts = { tokenableType: 'user', tokenableId: BigInt(user.id), createdAt: now, updatedAt: now }
    const abilities = JSON.stringify([evil])
    await svc.database.prisma.personalAccessToken.create({
      data: { ...facts, name: `${index} ${evil}`, abilities, token: String(index).padStart(64, '0') },
    })
  }
  const first = (await browser.open(path)).body
  t.notMatch(first, '<script>alert')
  const second = (await browser.open(/id="more" href="([^"]+)"/.exec(first)?.[1] ?? '')).body
  t.same(
    [first, second].map((body) => formsOn(body, forms).length),
    [50, 10],
  )
  t.match(first, '>59 &quot;', 'newest first')
})

t.test('hides the section where the configuration does', async (t) => {
  const settings: Settings = { account: { sections: ['profile'] } }
  await hides(t, 'tokens')
  const { browser } = await openAccount(t, settings)
  t.equal((await browser.open(newPath)).statusCode, 404)
})
