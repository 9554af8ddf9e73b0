// engine: none
import t, { type Test } from 'tap'
import { addAccount, formsOn, openAccount, press, rejectsForgeries } from '../../support/account-pages.ts'
import { removePassword } from '../../support/accounts.ts'
import { confirming } from '../../support/app.ts'
import { redirectOf } from '../../support/plain.ts'
import { buildSocial, Visitor } from './visitor.ts'

const path = '/account/providers'
const linkPath = `${path}/acme/link`
const unlinks = /^\/account\/providers\/\d+\/unlink$/
const confirm = `/account/confirm?return_to=${encodeURIComponent(path)}`

/** A user who confirmed the password, in a browser without scripts. */
async function confirmed(t: Test, acme = {}) {
  const svc = await buildSocial(t, { acme, settings: confirming })
  const { user, browser } = await addAccount(t, svc)
  t.match((await browser.open(path)).body, `href="${confirm}"`)
  t.strictSame(redirectOf(await press(browser, path, linkPath)), [303, confirm], 'linking needs the password')
  t.strictSame(redirectOf(await browser.send(confirm, { password: 'correct horse' })), [303, path])
  return { svc, user, browser, visitor: new Visitor(svc, browser.browser) }
}

/** Links an account by the form, and returns where the provider leads. */
async function linkAs({ browser, visitor }: Awaited<ReturnType<typeof confirmed>>, login: string, decision = 'allow') {
  const { headers, body } = await press(browser, path, linkPath)
  const href = /<a [^>]*href="(http[^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  return {
    refresh: headers.refresh,
    href,
    answer: await visitor.back(await visitor.allow(new URL(href), login, decision)),
  }
}

t.test('links an account through a page that continues to the provider, and unlinks it', async (t) => {
  const person = await confirmed(t)
  const { svc, browser } = person
  t.match((await browser.open(path)).body, /No account is linked[\s\S]*Link an account at Acme/)
  for (const form of [linkPath, `${path}/1/unlink`]) await rejectsForgeries(t, browser, form)
  const { refresh, href, answer } = await linkAs(person, 'grace')
  t.equal(refresh, `0; url=${href}`)
  t.strictSame(redirectOf(answer), [302, `${path}?done=linked`])
  const { body } = await browser.open(`${path}?done=linked`)
  for (const words of ['The account is linked.', 'Acme', 'grace@example.com', 'Linked since ']) t.match(body, words)
  const [action = ''] = formsOn(body, unlinks)

  const stranger = await addAccount(t, svc)
  await stranger.browser.send(confirm, { password: 'correct horse' })
  t.notMatch((await stranger.browser.open(path)).body, 'grace@example.com')
  t.equal((await press(stranger.browser, path, action)).statusCode, 404, 'not for other users')
  const taken = await linkAs({ ...person, ...stranger, visitor: new Visitor(svc, stranger.browser.browser) }, 'grace')
  t.strictSame(redirectOf(taken.answer), [302, `${path}?error=account_exists`])
  t.match((await stranger.browser.open(`${path}?error=account_exists`)).body, 'already linked to another user')

  t.strictSame(redirectOf(await press(browser, path, action)), [303, `${path}?done=unlinked`])
  t.match((await browser.open(path)).body, 'No account is linked.')
  for (const gone of [action, `${path}/x/unlink`, `${path}/none/link`])
    t.equal((await press(browser, path, gone)).statusCode, 404, gone)
})

t.test('refuses to remove the last way to sign in, and explains why', async (t) => {
  const person = await confirmed(t)
  await linkAs(person, 'grace')
  await removePassword(person.svc, person.user.id)
  const [action = ''] = formsOn((await person.browser.open(path)).body, unlinks)
  const kept = await press(person.browser, path, action)
  t.equal(kept.statusCode, 422)
  t.match(kept.body, 'This linked account is the only way in.')
  t.equal(await person.svc.database.prisma.socialAccount.count(), 1)
})

t.test('explains that linking failed', async (t) => {
  const person = await confirmed(t)
  const { answer } = await linkAs(person, 'grace', 'deny')
  t.strictSame(redirectOf(answer), [302, `${path}?error=access_denied`])
  t.match((await person.browser.open(`${path}?error=access_denied`)).body, 'The account was not linked.')
  for (const error of ['<script>', 'constructor', ''])
    t.notMatch((await person.browser.open(`${path}?error=${error}`)).body, 'form-error')
})

t.test('hides the section without providers, and links of a provider with link: false', async (t) => {
  const { browser } = await openAccount(t)
  t.equal((await browser.open(path)).statusCode, 404)
  const person = await confirmed(t, { link: false })
  t.notMatch((await person.browser.open(path)).body, 'Link an account at Acme')
  t.equal((await press(person.browser, path, linkPath)).statusCode, 404)
})
