// engine: none
import t from 'tap'
import { rejectsForgeries } from '../../support/account-pages.ts'
import { redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { buildSocial, type Social, Visitor } from './visitor.ts'

const own = 'http://localhost:8000'
const target = '/account/data/delete'
const page = `/account/confirm?return_to=${encodeURIComponent(target)}`
const button = 'confirm-acme'

/** A person without a password at a browser without scripts. */
async function open(svc: Social, login = 'grace', provider = 'acme') {
  const browser = new ScriptlessBrowser(svc)
  const visitor = new Visitor(svc, browser.browser)
  await visitor.signIn(login, provider)
  visitor.leave()
  return { browser, visitor }
}

type Person = Awaited<ReturnType<typeof open>>

/** Presses the button, and returns where the provider's page is. */
async function press({ browser }: Person, path = page): Promise<URL> {
  const { headers, body } = await browser.press(path, button)
  const href = /<a [^>]*href="(http[^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  if (headers.refresh !== `0; url=${href}`) throw new Error(body)
  return new URL(href)
}

const tokenOn = (body: string) => /name="_token" value="([^"]*)"/.exec(body)?.[1] ?? ''

const isConfirmed = async ({ browser }: Person) => (await browser.open(target)).statusCode === 200

t.test('confirms with a new sign-in at the linked provider, and returns to the page', async (t) => {
  const svc = await buildSocial(t, { settings: { app: { frontend_url: own } } })
  const grace = await open(svc)
  t.strictSame(redirectOf(await grace.browser.open(target)), [303, page])
  t.match((await grace.browser.open(page)).body, 'Continue with Acme')
  await rejectsForgeries(t, grace.browser, '/account/confirm/providers/acme')
  const there = await press(grace)
  t.match(Object.fromEntries(there.searchParams), { prompt: 'login', max_age: '0' })
  t.strictSame(redirectOf(await grace.visitor.back(await grace.visitor.allow(there, 'grace'))), [302, target])
  t.ok(await isConfirmed(grace))
})

t.test('refuses another account, an old sign-in, a denial, and another session', async (t) => {
  const svc = await buildSocial(t, { settings: { app: { frontend_url: own } } })
  const grace = await open(svc)
  const failed = `/account/confirm?error=access_denied&return_to=${encodeURIComponent(target)}`
  for (const [login, decision] of [
    ['alan', 'allow'],
    ['grace', 'deny'],
  ] as const) {
    const back = await grace.visitor.allow(await press(grace), login, decision)
    t.strictSame(redirectOf(await grace.visitor.back(back)), [302, failed], `${login}: ${decision}`)
    grace.visitor.leave()
  }
  t.match((await grace.browser.open(failed)).body, 'The provider did not confirm it')
  t.equal(await svc.database.prisma.user.count(), 1, 'the other account does not register either')
  svc.acme.changeIdToken((claims) => ({ ...claims, auth_time: Math.floor(svc.clock.now() / 1000) - 3600 }))
  const old = await grace.visitor.back(await grace.visitor.allow(await press(grace), 'grace'))
  t.match(String(old.headers.location), 'error=provider_error', 'a session at the provider is no new sign-in')
  svc.acme.changeIdToken((claims) => claims)
  grace.visitor.leave()
  const stolen = await grace.visitor.allow(await press(grace), 'grace')
  const thief = await open(svc, 'alan')
  await thief.visitor.back(stolen)
  t.notOk(await isConfirmed(thief))
  t.notOk(await isConfirmed(grace))
})

t.test('offers only linked providers that prove the time of a sign-in, to users without a password', async (t) => {
  const svc = await buildSocial(t, { settings: { app: { frontend_url: own } } })
  const smith = await open(svc, 'wayland', 'github')
  t.notMatch((await smith.browser.open(page)).body, /confirm-(acme|github)/)
  const _token = tokenOn((await smith.browser.open(page)).body)
  for (const id of ['acme', 'github']) {
    const answer = await smith.browser.post(`/account/confirm/providers/${id}`, { _token, return_to: '//evil.example' })
    t.strictSame(redirectOf(answer), [303, '/account/confirm?error=access_denied&return_to=%2Faccount'], id)
  }
  for (const id of ['none', '__proto__', '%00'])
    t.equal((await smith.browser.post(`/account/confirm/providers/${id}`, { _token })).statusCode, 404, id)

  const ada = new ScriptlessBrowser(svc)
  const { id, email } = await svc.createUser()
  await ada.send('/oauth/login', { email, password: 'correct horse' })
  await open(svc)
  await svc.database.prisma.socialAccount.updateMany({ data: { userId: BigInt(id) } })
  t.notMatch((await ada.open(page)).body, button, 'a password confirms its user')
  const form = await ada.post('/account/confirm/providers/acme', { _token: tokenOn((await ada.open(page)).body) })
  t.match(redirectOf(form), [303, /error=access_denied/])
  t.equal((await new ScriptlessBrowser(svc).post('/account/confirm/providers/acme', {})).statusCode, 303)
})
