// engine: none
import t, { type Test } from 'tap'
import { insertPasskey } from '../../../src/features/passkeys/store.ts'
import { confirmAt } from '../../support/account-pages.ts'
import { removePassword } from '../../support/accounts.ts'
import { buildTestApp, confirming, type Settings, type TestApp } from '../../support/app.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { confirmedBrowser } from '../../support/totp.ts'
import { Visitor } from './visitor.ts'

const section = '/account/passkeys'

const build = (t: Test, settings: Settings = {}) =>
  buildTestApp(t, { settings: { ...confirming, app: { frontend_url: 'http://localhost:5173' }, ...settings } })

/** A user with passkeys, in a browser without scripts. */
async function withPasskeys(svc: TestApp, count = 1) {
  const user = await svc.createUser()
  const owner = new Visitor(await confirmedBrowser(svc, user.email))
  for (let made = 0; made < count; made++) await owner.register(new Authenticator(), { backedUp: made === 0 })
  const ids: string[] = (await owner.browser.get('/user/passkeys')).json().map(({ id }: { id: string }) => id)
  const browser = new ScriptlessBrowser(svc)
  await browser.send('/oauth/login', credentials(user.email))
  return { user, owner, browser, ids }
}

const tokenOn = (body: string): string => /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? ''

t.test('lists, renames and removes passkeys without scripts', async (t) => {
  const svc = await build(t)
  const { user, owner, browser, ids } = await withPasskeys(svc, 2)
  const [first = '', second = ''] = ids
  const { body } = await browser.open(section)
  t.match(body, 'Synced between your devices')
  t.match(body, 'On one device only')
  t.match(body, /<time datetime="2026[^"]*" title="\w+ \d+, 2026 at [^"]* UTC">Added: now</)
  t.match(body, 'Not used yet')
  t.match(body, `href="${section}/${first}"`)
  await confirmAt(t, browser, `${section}/${first}`)
  for (const [name, message] of [
    ['', 'The name field is required.'],
    ['x'.repeat(256), 'The name field must not be greater than 255 characters.'],
    ['a\u202eb', 'The name field contains characters that are not allowed.'],
  ] as const) {
    const answer = await browser.send(`${section}/${first}`, { name })
    t.equal(answer.statusCode, 422)
    t.match(answer.body, message)
  }
  const renamed = await browser.send(`${section}/${first}`, { name: '<b>Key</b>' })
  t.strictSame(redirectOf(renamed), [303, `${section}?done=passkey_renamed`])
  t.match((await browser.open(`${section}?done=passkey_renamed`)).body, '&lt;b&gt;Key&lt;/b&gt;')
  const removed = await browser.press(`${section}/${first}`, 'passkey-remove')
  t.strictSame(redirectOf(removed), [303, `${section}?done=passkey_removed`])
  t.strictSame(
    (await owner.browser.get('/user/passkeys')).json().map(({ id }: { id: string }) => id),
    [second],
  )
  t.equal((await browser.open(`${section}/${first}`)).statusCode, 404)
  const subjects = (await svc.mailbox.to(user.email)).map(({ subject }) => subject)
  t.match(subjects.join(), /passkey was removed/i)
})

t.test("answers 404 for other users' passkeys and unknown ones", async (t) => {
  const svc = await build(t)
  const { owner, browser, ids } = await withPasskeys(svc)
  const other = await withPasskeys(svc)
  await confirmAt(t, other.browser, `${section}/new`)
  const _token = tokenOn((await other.browser.open(`${section}/${other.ids[0]}`)).body)
  for (const id of [...ids, '0', '999999999', '9'.repeat(19), '9'.repeat(20), '-1', 'abc', '1%00', '01']) {
    t.equal((await other.browser.open(`${section}/${id}`)).statusCode, 404, id)
    t.equal((await other.browser.post(`${section}/${id}`, { _token, name: 'Mine' })).statusCode, 404, id)
    t.equal((await other.browser.post(`${section}/${id}/remove`, { _token })).statusCode, 404, id)
  }
  t.match((await owner.browser.get('/user/passkeys')).json(), [{ id: ids[0], name: 'Phone' }])
  for (const path of [`${section}/${ids[0]}`, `${section}/${ids[0]}/remove`])
    t.equal((await browser.post(path, { name: 'Forged' })).statusCode, 419)
})

t.test('refuses to remove the last way to sign in, and explains why', async (t) => {
  const svc = await build(t)
  const { user, owner, browser, ids } = await withPasskeys(svc)
  const path = `${section}/${ids[0]}`
  await confirmAt(t, browser, path)
  await removePassword(svc, user.id)
  const refused = await browser.press(path, 'passkey-remove')
  t.equal(refused.statusCode, 422)
  t.match(refused.body, 'This passkey is the only way into the account.')
  t.match(refused.body, 'value="Phone"')
  t.equal((await owner.browser.get('/user/passkeys')).json().length, 1)
})

t.test('asks a user without a password for a passkey or a mailed code', async (t) => {
  const svc = await build(t)
  const { user, browser } = await withPasskeys(svc)
  await removePassword(svc, user.id)
  const asked = await browser.open(`${section}/new`)
  const confirm = '/account/confirm?return_to=%2Faccount%2Fpasskeys%2Fnew'
  t.strictSame(redirectOf(asked), [303, confirm])
  const { body } = await browser.open(confirm)
  t.match(body, 'data-return-to="/account/passkeys/new"')
  t.match(body, 'id="send-code"')
  const sent = await browser.press(confirm, 'send-code')
  const code = await svc.mailbox.find(user.email, /\b([2-9A-Z]{4}-[2-9A-Z]{4})\b/)
  t.strictSame(redirectOf(await browser.send(String(sent.headers.location), { code })), [303, `${section}/new`])
  const page = await browser.open(`${section}/new`)
  t.equal(page.statusCode, 200)
  t.match(page.body, /<noscript>.*Passkeys require JavaScript/s)
})

t.test('hides the section without passkeys', async (t) => {
  for (const settings of [{ passkeys: { enabled: false } }, { account: { sections: ['profile' as const] } }]) {
    const svc = await build(t, settings)
    const user = await svc.createUser()
    const browser = new ScriptlessBrowser(svc)
    await browser.send('/oauth/login', credentials(user.email))
    t.notMatch((await browser.open('/account')).body, section)
    for (const path of [section, `${section}/new`, `${section}/1`])
      t.equal((await browser.open(path)).statusCode, 404, path)
  }
})

t.test('offers a passkey once per browser, after a sign-in by password', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const signedIn = async () => {
    const browser = new ScriptlessBrowser(svc)
    await browser.send('/oauth/login', credentials(user.email))
    return browser
  }
  const offer = 'id="passkey-offer"'
  const browser = await signedIn()
  const first = await browser.open('/')
  t.match(first.body, offer)
  t.match(first.body, `href="${section}/new"`)
  t.match(String(first.headers['set-cookie']), /svc_passkey_offer=1; Max-Age=31536000; Path=\/; HttpOnly/)
  t.notMatch((await browser.open('/')).body, offer, 'only once')
  await browser.press('/', 'sign-out')
  t.notMatch((await browser.open('/')).body, offer)
  await browser.send('/oauth/login', credentials(user.email))
  t.notMatch((await browser.open('/')).body, offer, 'not at the next sign-in')

  const unknown = await signedIn()
  await svc.database.prisma.session.updateMany({ data: { data: '{}' } })
  t.notMatch((await unknown.open('/')).body, offer, 'not after a sign-in without a password')

  await svc.database.transaction((tx) =>
    insertPasskey(tx, {
      ...{ userId: user.id, name: 'Phone', credentialId: 'abc', publicKey: new Uint8Array([1]), counter: 0 },
      ...{ transports: [], backedUp: false, now: svc.clock.now() },
    }),
  )
  t.notMatch((await (await signedIn()).open('/')).body, offer, 'not to a user with a passkey')

  const visitor = new ScriptlessBrowser(svc)
  t.notMatch((await visitor.open('/')).body, offer)
  for (const settings of [{ passkeys: { enabled: false } }, { links: { account: 'https://app.example.com/me' } }]) {
    const other = await buildTestApp(t, { settings })
    const { email } = await other.createUser()
    const hidden = new ScriptlessBrowser(other)
    await hidden.send('/oauth/login', credentials(email))
    t.notMatch((await hidden.open('/')).body, offer)
  }
})
