import t from 'tap'
import { removePassword } from '../../support/accounts.ts'
import { confirming } from '../../support/app.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { hour } from '../../support/clock.ts'
import { beginTogether } from '../../support/together.ts'
import { confirmedBrowser } from '../../support/totp.ts'
import { buildSocial, failure, frontEnd, link, list, replicaOf, type Social, Visitor } from './visitor.ts'

const home = 'http://localhost:8000/'

/** A user with a confirmed password, in a browser that can visit providers. */
async function confirmed(svc: Social, email = 'ada@example.com') {
  const user = await svc.createUser({ email })
  return { user, visitor: new Visitor(svc, await confirmedBrowser(svc, email)) }
}

t.test('links, signs in by the link, and unlinks', async (t) => {
  const svc = await buildSocial(t, { settings: confirming })
  const ada = await confirmed(svc)
  const { visitor, user } = ada
  const session = await visitor.browser.cookie('svc_session')
  const answer = await link(ada, 'unproven')
  t.ok(
    String(answer.headers.location).startsWith(frontEnd) && failure(answer) === null,
    String(answer.headers.location),
  )
  t.equal((await visitor.user())?.id, user.id, 'the session continues')
  t.equal(await visitor.browser.cookie('svc_session'), session)
  const linked = (await visitor.browser.get(list)).json()
  t.match(linked, [{ id: Number, provider: 'acme', email: 'unproven@example.com' }])
  t.notMatch(JSON.stringify(linked), /token|secret/)
  const notices = async () => (await svc.mailbox.to(user.email)).filter(({ text }) => text.includes('Acme')).length
  t.equal(await notices(), 1)

  const other = new Visitor(svc)
  await other.signIn('unproven')
  t.equal((await other.user())?.id, user.id, 'linked by the owner, with any address')
  t.match(await other.user(), { email: 'ada@example.com' })

  const gone = await visitor.browser.delete(`${list}/${linked[0].id}`)
  t.ok([200, 204].includes(gone.statusCode), gone.body)
  t.same((await visitor.browser.get(list)).json(), [])
  t.equal(await notices(), 2)
  t.equal((await visitor.browser.delete(`${list}/${linked[0].id}`)).statusCode, 404)
  const types = (await svc.database.prisma.event.findMany()).map(({ type }) => type)
  t.ok(types.includes('social_linked') && types.includes('social_unlinked'))
})

t.test('requires a session, CSRF and a recent password for linking and unlinking', async (t) => {
  const svc = await buildSocial(t, { settings: confirming })
  const anonymous = svc.browser()
  await anonymous.get('/svc/csrf-cookie')
  t.equal((await anonymous.post(`${list}/acme`, {})).statusCode, 401)
  t.equal((await anonymous.get(list)).statusCode, 401)
  t.equal((await anonymous.delete(`${list}/1`)).statusCode, 401)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  t.equal((await svc.bearer(token, 'POST', `${list}/acme`, {})).statusCode, 401, 'sessions only')
  t.equal((await svc.bearer(token, 'GET', list)).statusCode, 401)
  const spa = svc.browser()
  await spa.signIn(user.email)
  t.equal((await spa.post(`${list}/acme`, {})).statusCode, 423)
  t.equal((await spa.delete(`${list}/1`)).statusCode, 423)
  await spa.post('/user/confirm-password', { password: 'correct horse' })
  t.equal((await spa.post(`${list}/acme`, {}, { 'x-xsrf-token': undefined })).statusCode, 419)
  t.equal((await spa.get(`${list}/acme`)).statusCode, 405, 'a click alone begins no link')
  t.equal((await spa.post(`${list}/unknown`, {})).statusCode, 404)
  t.equal((await spa.post(`${list}/acme`, {})).statusCode, 200)
  t.equal((await spa.delete(`${list}/1`, undefined, { 'x-xsrf-token': undefined })).statusCode, 419)
  t.equal((await spa.delete(`${list}/1`)).statusCode, 404)
  svc.clock.advance(4 * hour)
  t.equal((await spa.post(`${list}/acme`, {})).statusCode, 401, 'the session is over')
})

t.test('links nothing on a sign-in of a signed-in user', async (t) => {
  const svc = await buildSocial(t, { settings: confirming })
  const { visitor, user } = await confirmed(svc)
  const answer = await visitor.signIn('grace')
  t.equal(answer.headers.location, `${frontEnd}/`)
  t.not((await visitor.user())?.id, user.id)
  t.equal(await svc.database.prisma.socialAccount.count({ where: { userId: BigInt(user.id) } }), 0)
})

t.test('completes a link only in the session that began it', async (t) => {
  const svc = await buildSocial(t, { settings: confirming })
  const { visitor, user } = await confirmed(svc)
  const begun = new URL((await visitor.browser.post(`${list}/acme`, {})).json().url)
  const back = await visitor.allow(begun, 'grace')
  const thief = await confirmed(svc, 'thief@example.com')
  t.equal((await thief.visitor.back(back)).headers.location, frontEnd, 'another browser goes on')
  await visitor.browser.post('/logout')
  await visitor.browser.signIn('thief@example.com')
  t.ok(failure(await visitor.back(back)), 'of the same browser, for another user')
  t.equal(await svc.database.prisma.socialAccount.count(), 0)
  t.ok(user.id)
})

t.test('rejects a link when the user signs out or is disabled meanwhile', async (t) => {
  const svc = await buildSocial(t, { settings: confirming })
  const { visitor } = await confirmed(svc)
  const begun = new URL((await visitor.browser.post(`${list}/acme`, {})).json().url)
  const back = await visitor.allow(begun, 'grace')
  svc.acme.instead.set('/token', async (answer) => {
    await visitor.browser.post('/logout')
    return answer
  })
  t.equal(failure(await visitor.back(back)), 'invalid_state')
  t.equal(await svc.database.prisma.socialAccount.count(), 0)
  svc.acme.instead.clear()
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  svc.acme.instead.set('/token', async (answer) => {
    const disabledAt = new Date(svc.clock.now())
    await svc.database.prisma.user.updateMany({ where: { email: 'grace@example.com' }, data: { disabledAt } })
    return answer
  })
  const later = new Visitor(svc)
  t.equal(failure(await later.signIn('grace')), 'access_denied')
  t.equal(await later.user(), null)
})

t.test("rejects linking another user's identity, and linking an own one twice", async (t) => {
  const svc = await buildSocial(t, { settings: confirming })
  const owner = new Visitor(svc)
  await owner.signIn('grace')
  const ownerId = (await owner.user())?.id ?? 0
  const ada = await confirmed(svc)
  t.equal(failure(await link(ada, 'grace')), 'account_exists')
  const rows = await svc.database.prisma.socialAccount.findMany()
  t.match(rows, [{ userId: BigInt(ownerId) }])
  t.equal((await ada.visitor.user())?.id, ada.user.id)
  await link(ada, 'alan')
  await link(ada, 'alan')
  t.equal((await ada.visitor.browser.get(list)).json().length, 1)
  const id = rows[0]?.id
  t.equal((await ada.visitor.browser.delete(`${list}/${id}`)).statusCode, 404)
  for (const odd of ['0', '-1', 'x', '9'.repeat(30), '1.5', '%00']) {
    t.equal((await ada.visitor.browser.delete(`${list}/${odd}`)).statusCode, 404, odd)
  }
  t.equal(await svc.database.prisma.socialAccount.count(), 2)
})

t.test('refuses to remove the last way to sign in', async (t) => {
  const svc = await buildSocial(t, { settings: confirming })
  const ada = await confirmed(svc)
  await link(ada, 'grace')
  await link(ada, 'wayland', 'github')
  await removePassword(svc, ada.user.id)
  const { browser } = ada.visitor
  const other = await replicaOf(t, svc)
  const there = other.browser()
  for (const cookie of await browser.jar.getCookies(home)) await there.jar.setCookie(cookie, home)
  const [first, second] = (await browser.get(list)).json()
  beginTogether(svc, other)
  const answers = await Promise.all([browser.delete(`${list}/${first.id}`), there.delete(`${list}/${second.id}`)])
  const statuses = answers.map(({ statusCode }) => statusCode)
  t.equal(statuses.filter((status) => status < 300).length, 1, `${statuses}`)
  const [last] = (await browser.get(list)).json()
  const kept = await browser.delete(`${list}/${last.id}`)
  t.ok([409, 422].includes(kept.statusCode), kept.body)
  t.equal((await browser.get(list)).json().length, 1)
  const again = new Visitor(svc)
  await again.signIn(last.provider === 'acme' ? 'grace' : 'wayland', last.provider)
  t.equal((await again.user())?.id, ada.user.id)
})

t.test('counts a passkey as a way to sign in, and keeps one of the two', async (t) => {
  const svc = await buildSocial(t, { settings: confirming })
  const begin = async (email: string, login: string) => {
    const { user, visitor } = await confirmed(svc, email)
    await link({ visitor }, login)
    const { options } = (await visitor.browser.get('/user/passkeys/options')).json()
    const credential = new Authenticator().register(options)
    await visitor.browser.post('/user/passkeys', { name: 'Mine', credential })
    await removePassword(svc, user.id)
    return visitor.browser
  }
  const { prisma } = svc.database
  const bob = await begin('bob@example.com', 'alan')
  t.equal((await bob.delete(`/user/passkeys/${(await prisma.passkey.findFirstOrThrow()).id}`)).statusCode, 200)
  const [left] = (await bob.get(list)).json()
  t.equal((await bob.delete(`${list}/${left.id}`)).statusCode, 422)
  t.equal((await bob.delete('/user')).statusCode, 200)

  const browser = await begin('ada@example.com', 'grace')
  const [passkey, linked] = [await prisma.passkey.findFirstOrThrow(), await prisma.socialAccount.findFirstOrThrow()]
  const answers = await Promise.all([
    browser.delete(`${list}/${linked.id}`),
    browser.delete(`/user/passkeys/${passkey.id}`),
  ])
  t.same(answers.map(({ statusCode }) => statusCode < 300).sort(), [false, true])
  t.equal((await prisma.passkey.count()) + (await prisma.socialAccount.count()), 1)
  t.equal((await browser.delete('/user')).statusCode, 200)
  t.equal((await prisma.passkey.count()) + (await prisma.socialAccount.count()), 0, 'nothing remains of a deleted user')
})

t.test('rejects linking with link: false', async (t) => {
  const svc = await buildSocial(t, { acme: { link: false } })
  const ada = await confirmed(svc)
  t.ok([403, 404].includes((await ada.visitor.browser.post(`${list}/acme`, {})).statusCode))
  t.equal((await ada.visitor.browser.post(`${list}/github`, {})).statusCode, 200)
  t.equal((await new Visitor(svc).signIn('grace')).headers.location, `${frontEnd}/`, 'signing in still works')
})

t.test('does not count a passkey as a way to sign in while passkeys are off', async (t) => {
  const svc = await buildSocial(t, { settings: { passkeys: { enabled: false } } })
  const ada = await confirmed(svc)
  await link(ada, 'grace')
  await removePassword(svc, ada.user.id)
  const date = new Date(svc.clock.now())
  const passkey = { name: 'Phone', publicKey: 'x', credentialId: 'x', createdAt: date, updatedAt: date }
  await svc.database.prisma.passkey.create({ data: { ...passkey, userId: BigInt(ada.user.id) } })
  const { browser } = ada.visitor
  const [only] = (await browser.get(list)).json()
  const kept = await browser.delete(`${list}/${only.id}`)
  t.equal(kept.statusCode, 422, kept.body)
  t.equal((await browser.get(list)).json().length, 1)
})
