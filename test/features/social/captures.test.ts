// engine: none
import t from 'tap'
import { isPassword } from '../../../src/platform/crypto/stored-password.ts'
import { day } from '../../support/clock.ts'
import { confirmedBrowser } from '../../support/totp.ts'
import { buildSocial, failure, forgeAccounts, frontEnd, list, type Social, Visitor } from './visitor.ts'

const email = 'grace@example.com'

/** Runs something between the first and the second transaction of the next request. */
function afterFirstTransaction({ database }: Social, between: () => Promise<unknown>): void {
  const transaction = database.transaction.bind(database)
  let count = 0
  database.transaction = async (work) => {
    count++
    if (count === 2) {
      database.transaction = transaction
      await between()
    }
    return transaction(work)
  }
}

t.test('rejects a sign-in that is in flight while the owner of the address claims the account', async (t) => {
  const svc = await buildSocial(t)
  const { prisma } = svc.database
  for (const mode of ['browser', 'stateless'] as const) {
    await prisma.user.deleteMany()
    const begun = new Visitor(svc)
    await begun.signIn('alan')
    const { id } = (await begun.user()) ?? { id: 0 }
    await prisma.user.update({ where: { id: BigInt(id) }, data: { email, emailVerifiedAt: null } })
    const thief = new Visitor(svc)
    const query = mode === 'stateless' ? { stateless: '1', device_name: 'Phone' } : {}
    const back = await thief.allow(await thief.begin('acme', query), 'alan')
    const owner = new Visitor(svc)
    const backOfOwner = await owner.allow(await owner.begin(), 'grace')
    afterFirstTransaction(svc, () => owner.back(backOfOwner))
    const answer = await thief.back(back)
    t.equal((await owner.user())?.id, id, 'the account belongs to the owner')
    const { password } = await prisma.user.findUniqueOrThrow({ where: { id: BigInt(id) } })
    t.notOk(isPassword(password))
    t.equal(await thief.user(), null, mode)
    t.equal(await begun.user(), null)
    t.equal(await prisma.personalAccessToken.count(), 0)
    if (mode === 'stateless') t.equal(answer.statusCode, 401, answer.body)
    // There is still no password: nothing matches its placeholder.
    const guess = await svc.app.inject({
      method: 'POST',
      url: '/svc/token',
      payload: { email, password: password ?? '', device_name: 'x' },
    })
    t.equal(guess.statusCode, 422)
  }
})

t.test('distinguishes look-alike addresses', async (t) => {
  const svc = await buildSocial(t)
  const { id } = await svc.createUser({ email: 'smith@example.com' })
  for (const address of ['ſmith@example.com', 'ｓmith@example.com']) {
    svc.acme.accounts.set('grace', { sub: 'grace', email: address, email_verified: true })
    const visitor = new Visitor(svc)
    t.equal(failure(await visitor.signIn('grace')), 'email_missing', address)
    t.equal(await visitor.user(), null)
  }
  svc.acme.accounts.set('grace', { sub: 'grace', email: 'Smith@Example.com', email_verified: true })
  const visitor = new Visitor(svc)
  await visitor.signIn('grace')
  t.equal((await visitor.user())?.id, id, 'case makes no difference')
})

t.test('applies trust_email: false to lists of verified addresses too', async (t) => {
  const svc = await buildSocial(t, { github: { trust_email: false } })
  await svc.createUser({ email: 'wayland@example.com' })
  const visitor = new Visitor(svc)
  t.equal(failure(await visitor.signIn('wayland', 'github')), 'account_exists')
  t.equal(await visitor.user(), null)
})

t.test('opens no account of an earlier server that used the same provider name', async (t) => {
  const svc = await buildSocial(t)
  await new Visitor(svc).signIn('wayland', 'github')
  const other = await buildSocial(t)
  svc.config.swap(other.config.current())
  other.forge.accounts.set('wayland', { profile: { ...forgeAccounts.wayland?.profile }, emails: [] })
  const visitor = new Visitor(svc)
  t.equal(failure(await visitor.signIn('wayland', 'github')), 'email_missing', 'the same id, another person')
  t.equal(await visitor.user(), null)
})

t.test('rejects links that were switched off during the flow', async (t) => {
  const svc = await buildSocial(t)
  const user = await svc.createUser({ email: 'ada@example.com' })
  const visitor = new Visitor(svc, await confirmedBrowser(svc, user.email))
  const { url } = (await visitor.browser.post(`${list}/acme`, {})).json()
  const back = await visitor.allow(new URL(url), 'unproven')
  const { social, ...config } = svc.config.current()
  const closed = Object.entries(social).map(([id, provider]) => [id, { ...provider, link: false }])
  svc.config.swap({ ...config, social: Object.fromEntries(closed) })
  t.equal(failure(await visitor.back(back)), 'access_denied')
  t.same((await visitor.browser.get(list)).json(), [])
})

t.test('limits the cookies of unfinished sign-ins', async (t) => {
  const svc = await buildSocial(t)
  const visitor = new Visitor(svc)
  const long = `/${'x'.repeat(1_400)}`
  let last = await visitor.begin('acme', { return_to: long })
  for (let times = 0; times < 20; times++) last = await visitor.begin('acme', { return_to: long })
  const cookies = await visitor.browser.jar.getCookieString('http://localhost:8000/auth/acme/callback')
  t.ok(cookies.length < 10_000, `${cookies.length} bytes`)
  t.equal((await visitor.back(await visitor.allow(last, 'grace'))).headers.location, frontEnd + long)
})

t.test('passes the request for a new sign-in on to the provider', async (t) => {
  const svc = await buildSocial(t, { settings: { app: {} } })
  const visitor = new Visitor(svc)
  await visitor.signIn('grace')
  const { body } = await visitor.open('/oauth/login?prompt=login&return_to=%2F')
  const [, href = ''] = /href="(\/auth\/acme\/[^"]+)"/.exec(body) ?? []
  const at = new URL(
    String((await visitor.open(href.replaceAll('&#38;', '&').replaceAll('&amp;', '&'))).headers.location),
  )
  t.match(Object.fromEntries(at.searchParams), { prompt: 'login', max_age: '0' })
  svc.acme.changeIdToken((claims) => ({ ...claims, auth_time: Math.floor((Date.now() - day) / 1000) }))
  const answer = await visitor.back(await visitor.allow(at, 'grace'))
  t.match(answer.headers.location, 'error=provider_error', 'a returning user without a new sign-in is rejected')
})

t.test('handles odd pictures, large forms, and direct requests of the callback', async (t) => {
  const svc = await buildSocial(t)
  svc.acme.changeUserinfo((claims) => ({ ...claims, picture: 'https://x.example/\0' }))
  const visitor = new Visitor(svc)
  const back = await visitor.allow(await visitor.begin(), 'grace')
  const cookie = await visitor.browser.jar.getCookieString('http://localhost:8000/auth/acme/callback')
  const look = await svc.app.inject({ method: 'HEAD', url: back.pathname + back.search, headers: { cookie } })
  t.equal(look.statusCode, 400)
  t.equal((await visitor.back(back)).headers.location, `${frontEnd}/`)
  const [account] = (await visitor.browser.get(list)).json()
  t.notMatch(JSON.stringify(account), '\\u0000')
  const form = await svc.app.inject({
    method: 'POST',
    url: '/auth/acme/callback',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: `code=${'x'.repeat(20_000)}`,
  })
  t.equal(form.statusCode, 413)
})
