// engine: none
import t, { type Test } from 'tap'
import type { Config } from '../../../src/platform/config/schema.ts'
import { minute } from '../../support/clock.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { stopTime, travel } from '../../support/time.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { buildSocial, list, type Social, Visitor } from './visitor.ts'

const home = '/account'
const linkPage = `/oauth/link-provider?return_to=${encodeURIComponent(home)}`
const signInPage = (error: string) => `/oauth/login?${new URLSearchParams({ return_to: linkPage, error })}`
const fromOwnPage = {
  accept: 'text/html',
  origin: undefined,
  'sec-fetch-mode': 'navigate',
  'sec-fetch-site': 'same-origin',
}

/** A browser without scripts that can sign in at the provider. */
class Person extends ScriptlessBrowser {
  readonly visitor: Visitor
  constructor(svc: Social) {
    super(svc)
    this.visitor = new Visitor(svc, this.browser)
  }

  /** Presses the button of the provider on the sign-in page of svc; returns the redirect address. */
  async begin({ headers = fromOwnPage, provider = 'acme', returnTo = home } = {}): Promise<URL> {
    const query = new URLSearchParams({ page: '1', return_to: returnTo })
    const { headers: answered } = await this.browser.get(`/auth/${provider}/redirect?${query}`, headers)
    return new URL(String(answered.location))
  }

  /** Signs in at the provider, and returns. */
  async arrive(login: string, begin: Parameters<Person['begin']>[0] = {}) {
    return this.visitor.back(await this.visitor.allow(await this.begin(begin), login))
  }

  async links(): Promise<string[]> {
    const answer = await this.browser.get(list)
    return answer.json().map(({ email }: { email: string }) => email)
  }
}

/** Number of mails about linked accounts. */
const notices = async ({ mailbox }: Social, address: string): Promise<number> =>
  (await mailbox.to(address)).filter(({ text }) => text.includes('Acme')).length

/** svc with an account whose address the provider did not verify. */
async function build(t: Test, more: Parameters<typeof buildSocial>[1] = {}) {
  const svc = await buildSocial(t, more)
  const user = await svc.createUser({ email: 'unproven@example.com' })
  return { svc, user, ada: new Person(svc) }
}

t.test('links an account at a provider right after the sign-in to the account that has its address', async (t) => {
  const { svc, user, ada } = await build(t)
  const refused = await ada.arrive('unproven')
  t.strictSame(redirectOf(refused), [302, signInPage('account_exists')])
  const { body } = await ada.open(signInPage('account_exists'))
  t.match(body, 'An account with this email address already exists.')
  t.match(body, 'You can then link it')
  t.strictSame(redirectOf(await ada.open(linkPage)), [
    303,
    `/oauth/login?${new URLSearchParams({ return_to: linkPage })}`,
  ])

  const signedIn = await ada.send(signInPage('account_exists'), credentials(user.email))
  t.strictSame(redirectOf(signedIn), [303, linkPage])
  t.strictSame(await ada.links(), [], 'the sign-in alone links nothing')
  const page = (await ada.open(linkPage)).body
  for (const words of ['Link an account at Acme', 'unproven@example.com', user.name]) t.match(page, words)
  t.strictSame(redirectOf(await ada.press(linkPage, 'link-submit', { decision: 'link' })), [303, home])
  t.strictSame(await ada.links(), ['unproven@example.com'])
  t.equal(await notices(svc, user.email), 1, 'a mail notifies the owner')
  t.strictSame(redirectOf(await ada.open(linkPage)), [303, home], 'then there is nothing to link')

  const again = new Person(svc)
  t.strictSame(redirectOf(await again.arrive('unproven')), [302, home])
  t.equal(await again.user(), user.id, 'the provider signs in')
})

t.test('asks for the second factor before it links', async (t) => {
  const { svc, user, ada } = await build(t)
  const factor = await enableTwoFactor(svc, user)
  await ada.arrive('unproven')
  t.strictSame(redirectOf(await ada.send(signInPage('account_exists'), credentials(user.email))), [
    303,
    `/oauth/login?${new URLSearchParams({ return_to: linkPage })}`,
  ])
  t.match(redirectOf(await ada.open(linkPage)), [303, /oauth\/login/], 'the password alone is not enough')
  const challenge = `/oauth/login?${new URLSearchParams({ return_to: linkPage })}`
  t.strictSame(redirectOf(await ada.send(challenge, { code: factor.code(1) })), [303, linkPage])
  t.strictSame(redirectOf(await ada.press(linkPage, 'link-submit', { decision: 'link' })), [303, home])
  t.strictSame(await ada.links(), ['unproven@example.com'])
})

t.test('links an identity only in the browser that proved both accounts, once, within ten minutes', async (t) => {
  const clock = stopTime(t)
  const { svc, user } = await build(t, { clock, github: { link: false } })
  const cookieOf = ({ cookies }: { cookies: { name: string; value: string }[] }) =>
    cookies.find(({ name }) => name === 'svc_pending_link')?.value ?? ''

  const mallory = new Person(svc)
  const begunElsewhere = await mallory.arrive('unproven', {
    headers: { ...fromOwnPage, 'sec-fetch-site': 'cross-site' },
  })
  t.strictSame(redirectOf(begunElsewhere), [
    302,
    `/oauth/login?${new URLSearchParams({ return_to: home, error: 'account_exists' })}`,
  ])
  t.equal(cookieOf(begunElsewhere), '', 'another site cannot plant an identity')
  t.match(
    redirectOf(await mallory.arrive('hasty', { provider: 'github' })),
    [302, /return_to=%2Faccount&/],
    'link: false',
  )

  const ada = new Person(svc)
  const kept = cookieOf(await ada.arrive('unproven'))
  const bea = new Person(svc)
  await bea.send('/oauth/login', credentials(user.email))
  t.strictSame(redirectOf(await bea.open(linkPage)), [303, home], 'another browser has nothing to link')
  for (const altered of [`${kept.slice(0, -2)}xx`, 'x', ''])
    t.strictSame(redirectOf(await bea.open(linkPage, { cookie: `svc_pending_link=${altered}` })), [303, home])

  await ada.send(signInPage('account_exists'), credentials(user.email))
  const form = { decision: 'link', return_to: home }
  t.equal((await ada.post('/oauth/link-provider', form)).statusCode, 419, 'no form of another site links')
  const foreign = await ada.press(linkPage, 'link-submit', { decision: 'link', return_to: 'https://evil.example/' })
  t.strictSame(redirectOf(foreign), [303, 'http://localhost:5173/'], 'nor redirects there')
  t.strictSame(await ada.links(), ['unproven@example.com'])

  // The same cookie again, after the user unlinked the account.
  await svc.database.prisma.socialAccount.deleteMany()
  const setCookie = (who: Person, value: string) =>
    who.browser.jar.setCookie(`svc_pending_link=${value}; Path=/`, 'http://localhost:8000')
  await setCookie(ada, kept)
  t.strictSame(redirectOf(await ada.press(linkPage, 'link-submit', { decision: 'link' })), [303, home])
  t.strictSame(await ada.links(), [], 'an identity links once')

  const late = new Person(svc)
  const old = cookieOf(await late.arrive('unproven'))
  travel(svc, 10 * minute)
  await setCookie(late, old)
  t.match(redirectOf(await late.send(signInPage('account_exists'), credentials(user.email))), [303, linkPage])
  t.strictSame(redirectOf(await late.open(linkPage)), [303, home], 'ten minutes later')

  // A link to the sign-in page of svc that returns to the provider.
  const led = await late.arrive('nameless')
  t.strictSame([redirectOf(led), cookieOf(led)], [[302, '/oauth/login?return_to=%2Faccount&error=email_missing'], ''])

  // An attacker at an unattended browser, whose user signs in before the attacker returns from the provider.
  const left = new Person(svc)
  const unattended = await left.begin()
  await left.send(signInPage('account_exists'), credentials(user.email))
  travel(svc, minute)
  await left.visitor.back(await left.visitor.allow(unattended, 'nameless'))
  t.match(redirectOf(await left.open(linkPage)), [303, /^\/account\/confirm\?return_to=/], 'asks for the password')
  const token = /name="_token" value="([^"]*)"/.exec((await left.open('/oauth/login?prompt=login')).body)?.[1] ?? ''
  t.match(redirectOf(await left.post('/oauth/link-provider', { ...form, _token: token })), [303, /^\/account\/confirm/])
  t.strictSame(await left.links(), [])

  const confirm = `/account/confirm?${new URLSearchParams({ return_to: linkPage })}`
  t.strictSame(redirectOf(await left.send(confirm, { password: 'correct horse' })), [303, linkPage])
  t.strictSame(redirectOf(await left.press(linkPage, 'link-skip', { decision: 'skip' })), [303, home])
  t.strictSame(await left.links(), [], 'nor if the user declines')
  t.strictSame(redirectOf(await left.open(linkPage)), [303, home], 'which forgets the identity')
})

t.test('links an identity to one user under concurrent requests', async (t) => {
  const { svc, user, ada } = await build(t)
  await ada.arrive('unproven')
  await ada.send(signInPage('account_exists'), credentials(user.email))
  const answers = await Promise.all([1, 2, 3].map(() => ada.press(linkPage, 'link-submit', { decision: 'link' })))
  for (const answer of answers) t.strictSame(redirectOf(answer), [303, home])
  t.strictSame(await ada.links(), ['unproven@example.com'])
  t.equal(await notices(svc, user.email), 1)

  await svc.database.prisma.socialAccount.deleteMany()
  const other = await svc.createUser()
  const [bea, cleo, dan] = [new Person(svc), new Person(svc), new Person(svc)]
  for (const person of [bea, cleo, dan]) await person.arrive('unproven')
  await bea.send(signInPage('account_exists'), credentials(user.email))
  for (const person of [cleo, dan]) await person.send(signInPage('account_exists'), credentials(other.email))
  const config = svc.config.current()
  const acme = { ...config.social.acme, link: false } as Config['social'][string]
  svc.config.swap({ ...config, social: { ...config.social, acme } })
  t.strictSame(redirectOf(await dan.open(linkPage)), [303, home], 'not once the operator sets link: false')
  svc.config.swap(config)
  t.strictSame(redirectOf(await bea.press(linkPage, 'link-submit', { decision: 'link' })), [303, home])
  const late = await cleo.press(linkPage, 'link-submit', { decision: 'link' })
  t.equal(late.statusCode, 409)
  t.match(late.body, /already linked to another user[\s\S]*href="\/account"[\s\S]*Continue/)
  t.strictSame(await cleo.links(), [])
})

t.test('links only the accounts that the page showed, even after a change in another tab', async (t) => {
  const { svc, user, ada } = await build(t)
  const other = await svc.createUser()
  const sameOrigin = { 'sec-fetch-site': 'same-origin', accept: 'text/html', origin: 'http://localhost:8000' }
  const shown = async () => {
    const { body } = await ada.open(linkPage)
    const offer = /name="offer" value="([^"]+)"/.exec(body)?.[1] ?? ''
    return () => ada.browser.post('/oauth/link-provider', { decision: 'link', offer, return_to: home }, sameOrigin)
  }
  await ada.arrive('unproven')
  await ada.send(signInPage('account_exists'), credentials(user.email))
  const press = await shown()
  await ada.send('/oauth/login?prompt=login', credentials(other.email))
  t.strictSame(redirectOf(await press()), [303, linkPage], 'shows the other user')
  t.strictSame(await ada.links(), [])

  const pressOther = await shown()
  await ada.press('/account', 'sign-out')
  await ada.arrive('hasty', { provider: 'github' })
  await ada.send('/oauth/login?prompt=login', credentials(other.email))
  t.strictSame(redirectOf(await pressOther()), [303, linkPage], 'shows the other identity')
  t.strictSame(await ada.links(), [])
  t.strictSame(redirectOf(await (await shown())()), [303, home])
  t.strictSame(await ada.links(), ['hasty@example.com'])
})

t.test('links only to a verified account where that is required, and names no accounts', async (t) => {
  const settings = { registration: { enabled: false, require_verified_email: true } }
  const { svc, ada } = await build(t, { settings })
  const unverified = await svc.createUser({ verified: false })
  const bea = new Person(svc)
  await bea.arrive('nameless')
  await bea.send(signInPage('email_missing'), credentials(unverified.email))
  t.strictSame(redirectOf(await bea.open(linkPage)), [303, home])

  const known = redirectOf(await ada.arrive('unproven'))
  await svc.database.prisma.user.deleteMany()
  t.strictSame(redirectOf(await new Person(svc).arrive('unproven')), known, 'with an account and without')
  t.strictSame(known, [302, signInPage('email_unverified')])
})

t.test('never links an account for an administrator who acts as the user', async (t) => {
  const admin = { roles: ['admin'], pages: true, impersonation: { roles: ['admin'] } }
  const { svc, user } = await build(t, { settings: { admin } })
  const boss = await enableTwoFactor(svc, await svc.createUser({ email: 'boss@example.com', role: 'admin' }))
  const attacker = new Person(svc)
  t.strictSame(redirectOf(await attacker.arrive('unproven')), [302, signInPage('account_exists')])
  await attacker.send('/oauth/login', credentials(boss.email))
  await attacker.send('/oauth/login', { code: boss.code() })
  await attacker.send(`/admin/users/${user.id}/impersonate`, { reason: 'ticket 7' })
  t.equal(await attacker.user(), user.id)
  t.strictSame(redirectOf(await attacker.open(linkPage)), [
    303,
    `/oauth/login?${new URLSearchParams({ return_to: linkPage })}`,
  ])
  t.equal(await svc.database.prisma.socialAccount.count(), 0)
})
