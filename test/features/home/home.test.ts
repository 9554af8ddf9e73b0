// engine: none
import t from 'tap'
import { buildTestApp, type TestApp, testConfig } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'
import { nextAddress } from '../../support/plain.ts'
import { cookiesOf } from '../session/set-cookies.ts'

const own = 'http://localhost:8000'
const navigation = { accept: 'text/html,*/*;q=0.8', origin: undefined, referer: undefined }
const form = { ...navigation, 'content-type': 'application/x-www-form-urlencoded', origin: own }

const encode = (fields: Record<string, string>) => Buffer.from(String(new URLSearchParams(fields)))
const hiddenToken = (html: string) => /name="_token" value="([^"]*)"/.exec(html)?.[1] ?? ''

/** A browser without scripts on svc's own pages. */
const openBrowser = (svc: TestApp) => new Browser(svc.app, { origin: own, xsrf: false })

const signIn = (browser: Browser, email: string) =>
  browser.post('/login', { email, password: 'correct horse', remember: true }, { 'sec-fetch-site': 'same-origin' })

t.test('shows a sign-in link to visitors and the account to users, with a form to sign out', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser({ verified: false })
  const browser = openBrowser(svc)
  const visited = await browser.get('/', navigation)
  t.equal(visited.statusCode, 200)
  t.match(visited.body, /id="sign-in" href="http:\/\/localhost:8000\/oauth\/login\?return_to=%2F"/)
  t.notMatch(visited.body, /id="sign-out"/)

  t.equal((await signIn(browser, user.email)).statusCode, 200)
  const shown = await browser.get('/?verified=1', navigation)
  t.match(shown.body, user.email)
  t.match(shown.body, user.name)
  t.match(shown.body, 'Not verified')
  t.match(shown.body, 'Your email address is verified. Thank you.')
  t.equal(shown.headers['cache-control'], 'no-store')
  for (const query of ['', '?verified=2', '?verified[]=1', '?verified', '?%E0%A4%A']) {
    const answer = await browser.get(`/${query}`, navigation)
    t.equal(answer.statusCode, 200)
    t.notMatch(answer.body, 'Thank you.', query)
  }

  const forged = await browser.post('/oauth/sign-out', encode({ _token: 'wrong' }), form)
  t.equal(forged.statusCode, 419)
  t.match(forged.body, '<title>Error · svc</title>')
  t.match(forged.body, 'This page has expired')
  t.equal(await svc.database.prisma.session.count({ where: { userId: BigInt(user.id) } }), 1)

  const left = await browser.post('/oauth/sign-out', encode({ _token: hiddenToken(shown.body) }), form)
  t.equal(left.statusCode, 303, left.body)
  t.equal(left.headers.location, '/?signed_out=1')
  t.match((await browser.get('/?signed_out=1', navigation)).body, 'You are signed out')
  t.equal(cookiesOf(left).svc_remember?.value, '', 'the device is forgotten')
  t.equal(await svc.database.prisma.session.count({ where: { userId: BigInt(user.id) } }), 0)
  t.equal(await svc.database.prisma.rememberToken.count(), 0)
  const after = await browser.get('/', navigation)
  t.match(after.body, /id="sign-in"/)
  t.notMatch(after.body, user.email)
})

t.test('accepts a second click on the sign-out button', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const browser = openBrowser(svc)
  await signIn(browser, user.email)
  const vouched = { ...form, 'sec-fetch-site': 'same-origin' }
  for (const click of [1, 2]) {
    const answer = await browser.post('/oauth/sign-out', encode({}), vouched)
    t.equal(answer.statusCode, 303, `click ${click}`)
  }
  t.equal(await svc.database.prisma.event.count({ where: { type: 'logout' } }), 1)
})

t.test('leaves the home page to a configured front end', async (t) => {
  const svc = await buildTestApp(t, { settings: { app: { frontend_url: 'https://app.example' } } })
  const browser = openBrowser(svc)
  const page = await browser.get('/', navigation)
  t.equal(page.statusCode, 404)
  t.match(page.body, '<title>Error · svc</title>')
  t.match(page.body, 'href="https://app.example"')
  const json = await browser.get('/', { accept: 'application/json' })
  t.same([json.statusCode, json.json()], [404, { message: 'Not found.', code: 'not_found' }])
  const left = await browser.post('/oauth/sign-out', encode({}), { ...form, 'sec-fetch-site': 'same-origin' })
  t.equal(nextAddress(left), 'https://app.example/')

  svc.config.swap(testConfig({ app: { name: 'Now ours' } }).current())
  t.match((await browser.get('/', navigation)).body, 'Now ours', 'as the active configuration says')
})

t.test("links to the application's own sign-in page on the home page", async (t) => {
  const svc = await buildTestApp(t, { settings: { links: { login: '/welcome' } } })
  t.match((await openBrowser(svc).get('/', navigation)).body, 'href="http://localhost:8000/welcome?return_to=%2F"')
})
