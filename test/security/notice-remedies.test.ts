import t from 'tap'
import { systemOrigin } from '../../src/identity/events.ts'
import { type NoticeKind, notify } from '../../src/identity/notices.ts'
import { languages } from '../../src/platform/languages/languages.ts'
import { confirmAt, openAccount } from '../support/account-pages.ts'
import { buildTestApp, confirming, type Settings, type TestApp } from '../support/app.ts'
import { hour } from '../support/clock.ts'
import { oauthSettings, Person, request } from '../support/oauth.ts'
import { ScriptlessBrowser } from '../support/plain.ts'
import type { ReceivedMail } from '../support/smtp.ts'

const own = 'http://localhost:8000'
const forgot = `${own}/oauth/forgot-password`
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const provider = { client_id: 'x', client_secret: 'a-secret-that-is-long-enough' }
const settings = { ...oauthSettings, ...confirming, rate_limits: { mail: null }, social: { google: provider } }

const originAt = (now: number) => ({
  ...systemOrigin({ now, subscriber: { wants: () => false, add: async () => undefined } }),
  ...{ ipAddress: '203.0.113.7', userAgent: firefox, requestId: null, language: null, log: null, metrics: null },
  now,
})

/** Mails a notice to a user. */
async function mailed(
  svc: TestApp,
  user: { id: number; email: string; language?: string | null },
  kind: NoticeKind,
  facts: Parameters<typeof notify>[5] = {},
): Promise<ReceivedMail | undefined> {
  // Mails that are due at the same time arrive in any order.
  await svc.mailbox.all()
  const recipient = { language: null, ...user, email_verified_at: '2026-11-20T12:00:00.000000Z' }
  await svc.database.transaction((tx) => notify(svc.app, tx, originAt(svc.clock.now()), recipient, kind, facts))
  return (await svc.mailbox.to(user.email)).at(-1)
}

/** Links of a mail, in order, from its text and from its HTML. The last one is the footer's. */
const linksIn = ({ text, html }: ReceivedMail) => ({
  text: text.split('\n').filter((line) => line.startsWith('http')),
  html: [...html.matchAll(/<a href="([^"]+)"/g)].map(([, href = '']) => href).filter((href) => href !== own),
})

/** What undoes each change, the more important place first. */
const remedies: Record<Exclude<NoticeKind, 'account_deleted' | 'email_changed'>, string[]> = {
  application_authorized: ['/account/applications', forgot],
  data_exported: [forgot, '/account/sessions'],
  device_signed_in: ['/account/tokens', forgot],
  email_change_requested: ['/account/profile', forgot],
  impersonation_started: ['/account/sessions'],
  new_sign_in: [forgot, '/account/sessions'],
  passkey_added: ['/account/passkeys', forgot],
  passkey_removed: ['/account/passkeys', forgot],
  password_changed: [forgot, '/account/sessions'],
  password_removed: [forgot, '/account/sessions'],
  password_reset: [forgot, '/account/sessions'],
  personal_token_created: ['/account/personal-tokens', forgot],
  recovery_code_used: ['/account/two-factor', forgot],
  recovery_codes_generated: ['/account/two-factor', forgot],
  remember_replayed: [forgot, '/account/sessions'],
  social_linked: ['/account/providers', forgot],
  social_unlinked: ['/account/providers', forgot],
  token_created: ['/account/tokens', forgot],
  two_factor_disabled: ['/account/two-factor', forgot],
  two_factor_enabled: ['/account/two-factor', forgot],
  two_factor_reset: ['/account/two-factor', forgot],
}
const kinds = Object.keys(remedies).filter((kind): kind is keyof typeof remedies => kind in remedies)

t.test('links each notice to the page that undoes the change', async (t) => {
  const { svc, user, browser } = await openAccount(t, settings)
  for (const kind of kinds) {
    const mail = await mailed(svc, user, kind)
    if (!mail) throw new Error(`No mail for ${kind}`)
    const expected = remedies[kind].map((place) => new URL(place, own).href)
    t.strictSame(linksIn(mail), { text: expected, html: expected }, kind)
    t.match(
      mail.text,
      /When: November 20, 2026 at 12:00 PM UTC\nIP address: 203\.0\.113\.7\nBrowser or app: Firefox on Linux\n/,
    )
    for (const link of expected) {
      const { statusCode, headers } = await browser.open(link.replace(own, ''))
      const isConfirmed = statusCode === 303 && String(headers.location).startsWith('/account/confirm?')
      t.ok(statusCode === 200 || isConfirmed, `${kind} leads to ${link} (${statusCode})`)
    }
  }
})

t.test('links to the undo of a changed address, and changes nothing when opened', async (t) => {
  const { svc, user } = await openAccount(t, { ...settings, registration: { email_change: 'immediate' } })
  const browser = svc.browser()
  await browser.signIn(user.email)
  await browser.post('/user/confirm-password', { password: 'correct horse' })
  const next = 'grace@example.org'
  t.equal((await browser.put('/user/profile-information', { name: 'Ada', email: next })).statusCode, 200)
  // The notice of the sign-in may arrive later.
  const mails = await svc.mailbox.to(user.email)
  const mail = mails.find((sent) => linksIn(sent).text.some((link) => link.includes('/email/undo/')))
  if (!mail) throw new Error('No notice')
  const { text, html } = linksIn(mail)
  t.match(text, [/^http:\/\/localhost:8000\/email\/undo\/\d+\/[\w-]+$/])
  t.strictSame(html, text)
  const path = String(text[0]).replace(own, '')
  const guest = new ScriptlessBrowser(svc)
  t.equal((await guest.open(path)).statusCode, 200)
  t.equal((await svc.app.inject({ method: 'HEAD', url: path })).statusCode, 200)
  t.equal((await browser.get('/api/user')).json().email, next, 'a mail scanner undoes nothing')
  t.equal((await guest.press(path, 'undo-email-submit')).statusCode, 200)
  t.equal((await browser.get('/api/user')).statusCode, 401)
})

t.test("links to the application's own pages, and never to hidden sections", async (t) => {
  const linksWith = async (more: Settings, kind: NoticeKind) => {
    const svc = await buildTestApp(t, { settings: { ...settings, ...more } })
    const mail = await mailed(svc, { id: 1, email: 'ada@example.com' }, kind)
    return mail && linksIn(mail).text
  }
  const account = 'https://app.example.com/me'
  t.strictSame(await linksWith({ links: { account } }, 'passkey_added'), [account, forgot])
  t.strictSame(await linksWith({ links: { account: '/me' } }, 'new_sign_in'), [forgot, `${own}/me`])
  t.strictSame(await linksWith({ account: { sections: ['profile'] } }, 'passkey_added'), [forgot])
  t.strictSame(await linksWith({}, 'account_deleted'), [], 'nothing undoes it')
  const help = 'https://help.example.com/'
  t.strictSame(await linksWith({ links: { help } }, 'account_deleted'), [help])
})

t.test('names the time zone in every language', async (t) => {
  const svc = await buildTestApp(t, { settings })
  for (const language of languages) {
    const mail = await mailed(svc, { id: 1, email: `${language}@example.com`, language }, 'passkey_added')
    t.match(mail?.text, 'UTC', language)
    t.match(mail?.html, 'UTC', language)
  }
})

t.test('notifies a user who gives an application access or more access', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const person = new Person(svc, (await svc.createUser()).email)
  await person.signIn()
  const notices = async () =>
    (await svc.mailbox.to(person.email)).filter(({ text }) => text.includes('was given access')).length
  const allow = async (more: Record<string, string>) => {
    svc.clock.advance(hour)
    await person.allow(request('web', more))
    return notices()
  }
  t.equal(await allow({ scope: 'openid' }), 1)
  t.match((await svc.mailbox.to(person.email)).at(-1)?.text, 'App: The Web Shop\n')
  t.equal(await allow({ scope: 'openid', prompt: 'consent' }), 1, 'the same again')
  t.equal(await allow({ scope: 'openid orders:read' }), 2, 'more')
  await person.decide(await person.authorize(request('web', { scope: 'openid orders:write' })), 'deny')
  t.equal(await notices(), 2, 'a denial')
})

t.test('notifies a user whose data is exported', async (t) => {
  const { svc, user, browser } = await openAccount(t, settings)
  const path = '/account/data/export'
  const subjects = async () => (await svc.mailbox.to(user.email)).map(({ subject }) => subject)
  await confirmAt(t, browser, path)
  t.notOk((await subjects()).includes('Your data was exported'), 'not before the confirmation')
  t.equal((await browser.open(path)).statusCode, 200)
  t.ok((await subjects()).includes('Your data was exported'))
  const { body } = await browser.open('/account/activity')
  t.match(body, 'Data exported')
})
