import t from 'tap'
import { isPassword } from '../../../src/crypto/password.ts'
import { day } from '../../support/clock.ts'
import { confirmedBrowser } from '../../support/totp.ts'
import { buildSocial, failure, frontEnd, list, type Social, smiths, Visitor } from './visitor.ts'

const email = 'grace@example.com'

/** Runs something between the first transaction of what comes next and its second one. */
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

t.test('who is just signing in while the owner of the address takes the account over gets nothing', async (t) => {
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
    t.equal((await owner.user())?.id, id, 'the account is the owner’s')
    const { password } = await prisma.user.findUniqueOrThrow({ where: { id: BigInt(id) } })
    t.notOk(isPassword(password))
    t.equal(await thief.user(), null, mode)
    t.equal(await begun.user(), null)
    t.equal(await prisma.personalAccessToken.count(), 0)
    if (mode === 'stateless') t.equal(answer.statusCode, 401, answer.body)
    // Without a password still: no word fits what stands in its place.
    const guess = await svc.app.inject({
      method: 'POST',
      url: '/svc/token',
      payload: { email, password: password ?? '', device_name: 'x' },
    })
    t.equal(guess.statusCode, 422)
  }
})

t.test('an address that only looks like another is not that one', async (t) => {
  const svc = await buildSocial(t)
  const { id } = await svc.createUser({ email: 'smith@example.com' })
  for (const address of ['ſmith@example.com', 'ｓmith@example.com']) {
    svc.acme.accounts.set('grace', { sub: 'grace', email: address, email_verified: true })
    const visitor = new Visitor(svc)
    t.equal(failure(await visitor.signIn('grace')), 'account_exists', address)
    t.equal(await visitor.user(), null)
  }
  svc.acme.accounts.set('grace', { sub: 'grace', email: 'Smith@Example.com', email_verified: true })
  const visitor = new Visitor(svc)
  await visitor.signIn('grace')
  t.equal((await visitor.user())?.id, id, 'capital letters make no difference')
})

t.test('trust_email: false holds for lists of verified addresses too', async (t) => {
  const svc = await buildSocial(t, { github: { trust_email: false } })
  await svc.createUser({ email: 'wayland@example.com' })
  const visitor = new Visitor(svc)
  t.equal(failure(await visitor.signIn('wayland', 'github')), 'account_exists')
  t.equal(await visitor.user(), null)
})

t.test('another server under the name of a plain provider opens no accounts of the first', async (t) => {
  const svc = await buildSocial(t)
  await new Visitor(svc).signIn('wayland', 'github')
  const other = await buildSocial(t)
  svc.config.swap(other.config.current())
  other.forge.accounts.set('wayland', { profile: { ...smiths.wayland?.profile }, emails: [] })
  const visitor = new Visitor(svc)
  t.equal(failure(await visitor.signIn('wayland', 'github')), 'email_missing', 'the same id, somebody else')
  t.equal(await visitor.user(), null)
})

t.test('links that were switched off while somebody was at the provider', async (t) => {
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

t.test('begun sign-ins that nobody ended do not fill a browser up', async (t) => {
  const svc = await buildSocial(t)
  const visitor = new Visitor(svc)
  const long = `/${'x'.repeat(1_400)}`
  let last = await visitor.begin('acme', { return_to: long })
  for (let times = 0; times < 20; times++) last = await visitor.begin('acme', { return_to: long })
  const cookies = await visitor.browser.jar.getCookieString('http://localhost:8000/auth/acme/callback')
  t.ok(cookies.length < 10_000, `${cookies.length} bytes`)
  t.equal((await visitor.back(await visitor.allow(last, 'grace'))).headers.location, frontEnd + long)
})

t.test('a person who is asked to sign in anew is asked by the provider too', async (t) => {
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
  t.match(answer.headers.location, 'error=provider_error', 'who only came back is not taken')
})

t.test('odd pictures, big forms, and a look at the callback', async (t) => {
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
