// engine: none

import t from 'tap'
import {
  addAccount,
  confirmAt,
  formsOn,
  hides,
  openAccount,
  press,
  rejectsForgeries,
} from '../../../support/account-pages.ts'
import { confirming } from '../../../support/app.ts'
import { oauthSettings } from '../../../support/oauth.ts'
import { redirectOf } from '../../../support/plain.ts'

const path = '/account/personal-tokens'
const newPath = `${path}/new`
const forms = /^\/account\/personal-tokens\/[\w-]{43}\/revoke$/

t.test('creates a personal access token with chosen scopes, shows it once, and revokes it', async (t) => {
  const { svc, browser } = await openAccount(t, oauthSettings)
  t.match((await browser.open(path)).body, 'You have no personal access tokens.')
  const page = (await browser.open(newPath)).body
  for (const words of ['See your orders', 'The token expires on ']) t.match(page, words)
  t.notMatch(page, 'value="*"')
  const made = await browser.send(newPath, { name: '<b>Report', 'abilities[]': 'orders:read' }, 'name')
  t.equal(made.statusCode, 200)
  t.equal(made.headers['cache-control'], 'no-store')
  const token = /id="token" value="([^"]+)"/.exec(made.body)?.[1] ?? ''
  t.match((await svc.bearer(token, 'GET', '/api/tokens/current')).json(), { kind: 'jwt', abilities: ['orders:read'] })
  const list = (await browser.open(path)).body
  for (const words of ['&lt;b&gt;Report', 'Expires on ']) t.match(list, words)
  t.notMatch(list, token.split('.')[2] ?? token)
  const [action = ''] = formsOn(list, forms)
  await rejectsForgeries(t, browser, action)
  await rejectsForgeries(t, browser, newPath)
  const stranger = await addAccount(t, svc)
  t.equal((await press(stranger.browser, path, action)).statusCode, 404, 'not for other users')
  t.notMatch((await stranger.browser.open(path)).body, 'Report')
  t.strictSame(redirectOf(await press(browser, path, action)), [303, `${path}?done=token_revoked`])
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 401)
  t.equal((await press(browser, path, action)).statusCode, 404)
})

t.test('shows an invalid form again with the reason', async (t) => {
  const { svc, browser } = await openAccount(t, oauthSettings)
  const typed = { name: 'Report', 'abilities[]': 'orders:read' }
  const cases: [Record<string, string>, string][] = [
    [{ name: '' }, 'The name field is required.'],
    [{ 'abilities[]': 'admin' }, 'The selected scopes is invalid.'],
    [{ 'abilities[]': '' }, 'Choose at least one permission.'],
  ]
  for (const [change, message] of cases) {
    const answer = await browser.send(newPath, { ...typed, ...change }, 'name')
    t.equal(answer.statusCode, 422)
    t.match(answer.body, message)
  }
  t.equal(await svc.database.prisma.oauthPersonalToken.count(), 0)
})

t.test('asks for the password first with tokens.confirm_password', async (t) => {
  const { browser } = await openAccount(t, { ...oauthSettings, ...confirming, tokens: { confirm_password: true } })
  await confirmAt(t, browser, newPath)
  t.equal((await browser.send(newPath, { name: 'x', 'abilities[]': 'stock:read' }, 'name')).statusCode, 200)
})

t.test('hides the section where the configuration does, or has no scopes', async (t) => {
  await hides(t, 'personal-tokens', oauthSettings)
  const { browser } = await openAccount(t)
  for (const hidden of [path, newPath]) t.equal((await browser.open(hidden)).statusCode, 404)
})
