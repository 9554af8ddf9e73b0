// engine: none
import t from 'tap'
import { buildTestApp } from '../support/app.ts'
import { hour } from '../support/clock.ts'
import { oauthSettings, Person, request } from '../support/oauth.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../support/plain.ts'
import { stopTime } from '../support/time.ts'

const html = { accept: 'text/html' }

t.test('names the application on the pages before it', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const ada = new Person(svc, email)
  const signIn = await ada.authorize(request('web', { scope: 'openid' }))
  t.match(signIn.answer.body, /id="continue-to">Continue to The Web Shop</)
  const register = /href="http:\/\/localhost:8000(\/oauth\/register[^"]*)"/.exec(signIn.answer.body)?.[1] ?? ''
  t.match((await ada.plain.open(register)).body, /id="continue-to">Continue to The Web Shop</)
  const wrong = await ada.press(signIn, credentials(email, 'wrong password'))
  t.match(wrong.answer.body, 'Continue to The Web Shop', 'again after an error')
  const stranger = new ScriptlessBrowser(svc)
  t.notMatch((await stranger.open(signIn.path)).body, 'The Web Shop', 'only in the browser that began')
  t.notMatch((await stranger.open('/oauth/login')).body, 'id="continue-to"')
})

t.test('names the guarded service that asks for the sign-in', async (t) => {
  const rules = [{ hosts: ['orders.example.com'], access: 'public' }]
  const svc = await buildTestApp(t, { settings: { guard: { rules } } })
  const open = async (target: string) =>
    (await new ScriptlessBrowser(svc).open(`/oauth/login?return_to=${encodeURIComponent(target)}`)).body
  t.match(await open('https://orders.example.com/a'), 'Continue to orders.example.com')
  t.notMatch(await open('https://evil.example/a'), 'id="continue-to"')
})

t.test('shows that an authorization is finished, and links to its application', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const consent = await ada.authorize(request('web', { scope: 'openid' }))
  t.equal(consent.page, 'Authorize')
  t.not((await ada.decide(consent)).out, null)
  const back = await ada.plain.open(consent.path)
  t.equal(back.statusCode, 404)
  t.match(back.body, 'This sign-in is finished')
  t.match(back.body, /<a class="button primary" href="http:\/\/localhost:9999">Continue to The Web Shop</)
  const other = new Person(svc, (await svc.createUser()).email)
  await other.signIn()
  const unknown = await other.plain.open(consent.path)
  t.equal(unknown.statusCode, 404)
  t.match(unknown.body, 'This sign-in has expired')
  t.notMatch(unknown.body, 'The Web Shop')
  const told = await svc.app.inject({ url: consent.path })
  t.match([told.statusCode, told.json().code], [404, 'not_found'])
})

t.test('begins the page about an invalid authorization request with what the person can do', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const query = new URLSearchParams(request('unknown')).toString()
  const { body, statusCode } = await svc.app.inject({ url: `/oauth/authorize?${query}`, headers: html })
  t.equal(statusCode, 400)
  const order = ['The app sent an invalid request', 'Go back to the app', 'invalid_client', 'Request ID']
  const places = order.map((text) => body.indexOf(text))
  t.notOk(places.includes(-1), body)
  t.strictSame(
    places,
    places.toSorted((a, b) => a - b),
  )
})

t.test('explains immediately that a reset link is used or expired, and offers a new mail', async (t) => {
  const own = { app: { url: 'http://localhost:8000', frontend_url: 'http://localhost:8000' } }
  const svc = await buildTestApp(t, { settings: own })
  const { email } = await svc.createUser()
  const visitor = new ScriptlessBrowser(svc)
  const mailed = async (): Promise<string> => {
    await visitor.send('/oauth/forgot-password', { email })
    const { pathname, search } = new URL(await svc.mailbox.find(email, /(http\S+\/reset-password\/\S+)/))
    return pathname + search
  }
  const link = await mailed()
  t.equal((await visitor.open(link)).statusCode, 200)
  t.equal((await visitor.open(link)).statusCode, 200, 'opening it uses nothing up')
  for (const wrong of [link.replace('email=', 'email=x'), link.replace('/reset-password/', '/reset-password/x')]) {
    const shown = await visitor.open(wrong)
    t.equal(shown.statusCode, 403)
    t.match(shown.body, 'This link is invalid')
  }
  const _token = /name="_token" value="([^"]*)"/.exec((await visitor.open(link)).body)?.[1] ?? ''
  svc.clock.advance(hour + 1)
  const password = 'a new passphrase'
  const tooLate = await visitor.post(link, { _token, email, password, password_confirmation: password })
  t.equal(tooLate.statusCode, 422)
  t.match(tooLate.body, 'Send a new link')
  const late = await visitor.open(link)
  t.equal(late.statusCode, 403)
  const again = /href="(\/oauth\/forgot-password[^"]*)"/.exec(late.body)?.[1] ?? ''
  t.match((await visitor.open(again)).body, `value="${email}"`)
  const unknown = await visitor.open(link.replace(encodeURIComponent(email), 'nobody%40example.com'))
  t.equal(unknown.statusCode, 403, 'an unknown address looks the same')
  t.equal(
    unknown.body.replace(/nobody%40example.com|<code>[^<]*<\/code>|nonce="\w+"/g, ''),
    late.body.replace(new RegExp(`${encodeURIComponent(email)}|<code>[^<]*</code>|nonce="\\w+"`, 'g'), ''),
  )
})

t.test('explains why a verification link asks to sign in', async (t) => {
  const svc = await buildTestApp(t)
  const { id, email } = await svc.createUser({ verified: false })
  const visitor = new ScriptlessBrowser(svc)
  const asked = await visitor.open(`/email/verify/${id}/abc`)
  t.equal(asked.statusCode, 302)
  const page = new URL(String(asked.headers.location))
  t.match((await visitor.open(page.pathname + page.search)).body, 'Sign in to verify your email address.')
  const signedIn = await visitor.send(page.pathname + page.search, credentials(email))
  t.strictSame(redirectOf(signedIn), [303, `/email/verify/${id}/abc`])
  const refused = await visitor.open(`/email/verify/${id}/abc`)
  t.equal(refused.statusCode, 403)
  t.match(refused.body, /href="\/oauth\/verify-email">Send the email again</)
})

t.test('leads from an expired form to a fresh one', async (t) => {
  const svc = await buildTestApp(t)
  const browser = new ScriptlessBrowser(svc)
  const own = 'http://localhost:8000'
  const expired = async (referer: string | undefined) => {
    const sent = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded', referer }
    const { statusCode, body } = await browser.browser.send('POST', '/oauth/login', Buffer.from('_token=old'), sent)
    t.equal(statusCode, 419)
    return /<a class="button primary" href="([^"]*)">Reload the page</.exec(body)?.[1] ?? null
  }
  t.equal(await expired(`${own}/oauth/login?return_to=%2Faccount`), '/oauth/login?return_to=%2Faccount')
  for (const other of [
    'https://evil.example/oauth/login',
    `${own}//evil.example`,
    `${own}/\\evil.example`,
    'x',
    undefined,
  ])
    t.equal(await expired(other), null, String(other))
})
