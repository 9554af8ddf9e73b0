import t, { type Test } from 'tap'
import { isPassword } from '../../../src/platform/crypto/stored-password.ts'
import { addAccount, rejectsForgeries } from '../../support/account-pages.ts'
import type { Settings } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { beforeNextTransaction } from '../../support/meanwhile.ts'
import { redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { eventsOf } from '../passkeys/visitor.ts'
import { buildSocial, type Social, Visitor } from '../social/visitor.ts'
import { invited, tokenOf, typed } from './setup.ts'

const email = 'ada@work.example'

/** svc with providers that shows its own pages. Only invited people can create accounts. */
const build = (t: Test, settings: Settings = {}, isDown = false) =>
  buildSocial(t, {
    isDown,
    settings: {
      app: { frontend_url: 'http://localhost:8000' },
      registration: { enabled: false, allowed_domains: ['elsewhere.example'] },
      rate_limits: { register: null, mail: null },
      ...settings,
    },
  })

/** A person at a browser without scripts. */
function person(svc: Social, browser = new ScriptlessBrowser(svc)) {
  return { browser, visitor: new Visitor(svc, browser.browser) }
}

type Person = ReturnType<typeof person>

/** Presses the button of a provider on the page of the invitation, and returns the address of the provider. */
async function begin({ browser }: Person, link: string, provider = 'acme'): Promise<URL> {
  const { statusCode, headers, body } = await browser.press(link, `accept-${provider}`)
  const href = /<a [^>]*href="(http[^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  if (headers.refresh !== `0; url=${href}`) throw new Error(`${statusCode} ${headers.location} ${body}`)
  return new URL(href)
}

/** Signs in at the provider; returns the address that it redirects to. */
const signInThere = async (someone: Person, link: string, login: string, provider = 'acme', decision = 'allow') =>
  someone.visitor.allow(await begin(someone, link, provider), login, decision)

/** Accepts an invitation with an account at a provider. */
const accept = async (someone: Person, link: string, login: string, provider = 'acme') =>
  someone.visitor.back(await signInThere(someone, link, login, provider))

const invalid = 'This invitation is invalid'

t.test('creates the account with an account at a provider that has another address', async (t) => {
  const svc = await build(t)
  const link = await invited(svc, email, '--role=editor')
  const alan = person(svc)
  const page = await alan.browser.open(link)
  t.match(page.body, /Continue with Acme[\s\S]*Continue with GitHub/)
  t.equal(page.body.split('class="or"').length, 2, 'one separator for all other ways')
  t.strictSame(redirectOf(await accept(alan, link, 'alan')), [302, '/'])
  const user = await alan.visitor.user()
  t.match(user, { email, name: 'Alan Acme', email_verified_at: String, role: 'editor' })
  const [row] = await svc.database.prisma.user.findMany({ include: { socialAccounts: true } })
  t.match(row, { socialAccounts: [{ provider: 'acme', providerId: 'alan', email: 'alan@example.com' }] })
  t.notOk(isPassword(row?.password ?? null))
  const userId = Number(user?.id)
  t.match(await eventsOf(svc, 'registered'), [{ userId, data: { invitation: Number } }])
  t.match(await eventsOf(svc, 'social_linked'), [{ userId, data: { provider: 'acme' } }])
  t.match(await eventsOf(svc, 'login'), [{ userId, data: { channel: 'invitation' } }])
  t.equal((await svc.mailbox.all()).length, 1, 'no mail besides the invitation')
  const later = person(svc)
  await later.visitor.signIn('alan')
  t.equal((await later.visitor.user())?.id, userId, 'the provider signs in to the account')
  t.match(await alan.browser.open(link), { statusCode: 403, body: new RegExp(invalid) })
  t.notMatch(svc.logs.join('\n'), tokenOf(link), 'no log line has the token')

  for (const [login, provider, words, name] of [
    ['hasty', 'github', ['--name=Hasty Guest'], 'Hasty Guest'],
    ['nameless', 'acme', [], 'guest'],
  ] as const) {
    const guest = person(svc)
    await accept(guest, await invited(svc, 'guest@work.example', ...words), login, provider)
    t.match(await guest.visitor.user(), { name, email: 'guest@work.example', email_verified_at: String }, login)
    await svc.database.prisma.user.deleteMany({ where: { email: 'guest@work.example' } })
  }
})

t.test('completes an invitation only in the browser that started it, and once', async (t) => {
  const svc = await build(t)
  const [link, other] = [await invited(svc, email), await invited(svc, 'other@work.example')]
  const [grace, thief] = [person(svc), person(svc)]
  await rejectsForgeries(t, grace.browser, `${link}/providers/acme`)
  const back = await signInThere(grace, link, 'grace')
  for (const [login, label] of [
    [null, 'without a flow'],
    ['alan', 'with a flow of another invitation'],
  ] as const) {
    if (login !== null) await signInThere(thief, other, login)
    t.strictSame(redirectOf(await thief.visitor.back(back)), [302, '/oauth/login?error=invalid_state'], label)
  }
  const forged = new URL(back)
  forged.pathname = forged.pathname.replace('acme', 'github')
  t.match(redirectOf(await grace.visitor.back(forged)), [302, /error=invalid_state/], 'another provider')
  t.equal(await svc.database.prisma.user.count(), 0)
  const cookies = await grace.browser.browser.jar.clone()
  t.strictSame(redirectOf(await grace.visitor.back(back)), [302, '/'])
  t.strictSame(redirectOf(await grace.visitor.back(back)), [302, '/'], 'a second time')
  const copy = person(svc)
  for (const cookie of await cookies.getCookies('http://localhost:8000'))
    await copy.browser.browser.jar.setCookie(cookie, 'http://localhost:8000')
  t.strictSame(redirectOf(await copy.visitor.back(back)), [302, `${link}?error=invalid_state`], 'with the old cookies')
  t.equal(await copy.visitor.user(), null)
  t.match(await copy.browser.open(`${link}?error=invalid_state`), { statusCode: 403, body: new RegExp(invalid) })
  t.equal(await svc.database.prisma.user.count(), 1)
})

t.test('explains a failed provider sign-in, and keeps the invitation valid', async (t) => {
  const svc = await build(t)
  const link = await invited(svc, email)
  const token = tokenOf(link)
  const grace = person(svc)
  const shows = async (code: string, text: string) => {
    const page = await grace.browser.open(`${link}?error=${code}`)
    t.equal(page.statusCode, 200, code)
    t.match(page.body, text)
  }
  const denied = await grace.visitor.back(await signInThere(grace, link, 'grace', 'acme', 'deny'))
  t.strictSame(redirectOf(denied), [302, `${link}?error=access_denied`])
  await shows('access_denied', 'Access was denied.')
  grace.visitor.leave()

  const slow = await signInThere(grace, link, 'grace')
  svc.clock.advance(11 * minute)
  t.strictSame(redirectOf(await grace.visitor.back(slow)), [302, `${link}?error=expired`])
  await shows('expired', 'The sign-in expired.')
  grace.visitor.leave()

  // An account at the provider that another user has linked.
  const owner = person(svc)
  await accept(owner, await invited(svc, 'owner@work.example'), 'alan')
  t.strictSame(redirectOf(await accept(grace, link, 'alan')), [302, `${link}?error=account_exists`])
  await shows('account_exists', 'The account at the provider is already linked to another user.')
  t.equal(await grace.visitor.user(), null)
  grace.visitor.leave()

  for (const odd of ['<script>', 'constructor', ''])
    t.notMatch((await grace.browser.open(`${link}?error=${encodeURIComponent(odd)}`)).body, 'form-error')
  const { body } = await grace.browser.open(link)
  const _token = /name="_token" value="([^"]+)"/.exec(body)?.[1] ?? ''
  for (const id of ['none', '__proto__', '%00', 'acme%2f'])
    t.equal((await grace.browser.post(`${link}/providers/${id}`, { _token })).statusCode, 404, id)
  const unknown = link.replace(token, 'x'.repeat(43))
  t.strictSame(redirectOf(await grace.browser.post(`${unknown}/providers/acme`, { _token })), [303, unknown])
  t.equal((await grace.browser.post(`${link}${'x'.repeat(99)}/providers/acme`, { _token })).statusCode, 404)
  t.equal((await grace.browser.open(`${link}/providers/acme`)).statusCode, 405)

  await shows('provider_error', 'so your account was not created')
  t.match(redirectOf(await grace.browser.send(link, typed)), [303, '/'], 'a password still works')
})

t.test('refuses an invitation that ended during the sign-in at the provider', async (t) => {
  const svc = await build(t, { invitations: { ttl: '30m' } })
  const { prisma } = svc.database
  for (const [label, end] of [
    ['expired', async () => svc.clock.advance(minute / 2)],
    ['replaced', async () => invited(svc, email)],
    ['accepted with a password', async (link: string) => person(svc).browser.send(link, typed)],
    ['deleted', async () => prisma.invitation.deleteMany()],
  ] as const) {
    const link = await invited(svc, email)
    svc.clock.advance(29.5 * minute)
    const grace = person(svc)
    const back = await signInThere(grace, link, 'grace')
    await end(link)
    const users = await prisma.user.count()
    t.strictSame(redirectOf(await grace.visitor.back(back)), [302, `${link}?error=expired`], label)
    t.match(await grace.browser.open(`${link}?error=expired`), { statusCode: 403, body: new RegExp(invalid) }, label)
    t.equal(await grace.visitor.user(), null, label)
    t.strictSame([await prisma.user.count(), await prisma.socialAccount.count()], [users, 0], label)
    await prisma.user.deleteMany()
  }
  // The address gets an account meanwhile, or between the check and the creation.
  for (const isLate of [false, true]) {
    await prisma.user.deleteMany()
    const link = await invited(svc, email)
    const grace = person(svc)
    const back = await signInThere(grace, link, 'grace')
    const take = () => svc.createUser({ email })
    if (isLate) beforeNextTransaction(svc, take)
    else await take()
    t.strictSame(redirectOf(await grace.visitor.back(back)), [302, `${link}?error=account_exists`])
    const page = await grace.browser.open(`${link}?error=account_exists`)
    t.match(page, { statusCode: 403, body: /You already have an account[\s\S]*ada@work\.example[\s\S]*Sign in/ })
    t.equal(await prisma.socialAccount.count(), 0)
  }
})

t.test('creates one account for simultaneous callbacks', async (t) => {
  const svc = await build(t)
  const { prisma } = svc.database
  const people = [person(svc), person(svc)] as const
  const link = await invited(svc, email)
  const backs = [await signInThere(people[0], link, 'grace'), await signInThere(people[1], link, 'alan')]
  const answers = await Promise.all(people.map(({ visitor }, index) => visitor.back(backs[index] ?? new URL(link))))
  t.strictSame(answers.map((answer) => redirectOf(answer)[1]).sort(), ['/', `${link}?error=expired`], 'one invitation')
  t.strictSame([await prisma.user.count(), await prisma.socialAccount.count()], [1, 1])

  await prisma.user.deleteMany()
  for (const { visitor } of people) visitor.leave()
  const links = [await invited(svc, email), await invited(svc, 'other@work.example')]
  const both = await Promise.all(people.map((someone, index) => signInThere(someone, links[index] ?? '', 'grace')))
  const second = await Promise.all(people.map(({ visitor }, index) => visitor.back(both[index] ?? new URL(link))))
  const outcomes = second.map((answer) => String(redirectOf(answer)[1])).sort()
  t.equal(outcomes[0], '/')
  t.match(outcomes[1], /error=account_exists$/, 'one account at the provider')
  t.strictSame([await prisma.user.count(), await prisma.socialAccount.count()], [1, 1])
  t.equal(await prisma.invitation.count(), 1, 'the other invitation still works')
})

t.test('names the signed-in user, and does not change that account', async (t) => {
  const svc = await build(t)
  const { user, browser } = await addAccount(t, svc)
  const link = await invited(svc, email)
  const note = `You are signed in as ${user.email}.`
  t.match((await browser.open(link)).body, note)
  t.notMatch((await person(svc).browser.open(link)).body, 'You are signed in as')
  const ada = person(svc, browser)
  t.strictSame(redirectOf(await accept(ada, link, 'grace')), [302, '/'])
  const created = await ada.visitor.user()
  t.equal(created?.email, email)
  const [linked] = await svc.database.prisma.socialAccount.findMany()
  t.equal(Number(linked?.userId), created?.id)
})

t.test('explains that a provider is unavailable', async (t) => {
  const svc = await build(t, {}, true)
  const link = await invited(svc, email)
  const { browser } = person(svc)
  t.strictSame(redirectOf(await browser.press(link, 'accept-acme')), [303, `${link}?error=provider_error`])
  t.equal(await svc.database.prisma.event.count({ where: { type: 'social_login_failed' } }), 0)
})

t.test('has no buttons without providers', async (t) => {
  const svc = await build(t, { social: {} })
  const link = await invited(svc, email)
  const { browser } = person(svc)
  const { body } = await browser.open(link)
  t.notMatch(body, '/providers/')
  const _token = /name="_token" value="([^"]+)"/.exec(body)?.[1] ?? ''
  t.equal((await browser.post(`${link}/providers/acme`, { _token })).statusCode, 404)
})
