// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'

const own = 'http://localhost:8000'
const navigation = { accept: 'text/html,*/*;q=0.8', origin: undefined, referer: undefined }
const form = { ...navigation, 'content-type': 'application/x-www-form-urlencoded', origin: own }

const encode = (fields: Record<string, string>) => Buffer.from(String(new URLSearchParams(fields)))
const hiddenToken = (html: string) => /name="_token" value="([^"]*)"/.exec(html)?.[1] ?? ''
const shownLanguage = (html: string) => /<html lang="([\w-]+)"/.exec(html)?.[1]

const openBrowser = (svc: TestApp) => new Browser(svc.app, { origin: own, xsrf: false })

async function languageFor(browser: Browser, accepted?: string, path = '/oauth/login'): Promise<string | undefined> {
  const { body } = await browser.get(path, { ...navigation, 'accept-language': accepted })
  return shownLanguage(body)
}

async function choose(browser: Browser, language: string, returnTo = '/oauth/login') {
  const { body } = await browser.get('/oauth/login?prompt=login', navigation)
  return browser.post('/oauth/language', encode({ _token: hiddenToken(body), language, return_to: returnTo }), form)
}

t.test('shows pages in the first accepted language that is offered', async (t) => {
  const svc = await buildTestApp(t, { settings: { i18n: { languages: ['en', 'de', 'pt-BR', 'zh-Hans', 'ar'] } } })
  for (const [accepted, language] of [
    [undefined, 'en'],
    ['', 'en'],
    ['de', 'de'],
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['fr;q=0.9, en;q=0.5, de;q=0.7', 'de'],
    ['en;q=0.2, de;q=0', 'en'],
    ['pt-PT', 'pt-BR'],
    ['zh-CN', 'zh-Hans'],
    ['zh-TW', 'zh-Hans'],
    ['zh-TW, zh;q=0.9, en;q=0.8', 'zh-Hans'],
    ['zh-TW, en;q=0.8', 'en'],
    ['de-CH, fr-CH;q=0.9', 'de'],
    ['en-GB', 'en'],
    ['zh-TW, ar-EG;q=0.5', 'ar'],
    ['*', 'en'],
    ['fr', 'en'],
    ['x, -, de--, <script>, ../de', 'en'],
    [`${'fr,'.repeat(500)}de`, 'en'],
  ] as const) {
    t.equal(await languageFor(openBrowser(svc), accepted), language, String(accepted))
  }
  const { headers, body } = await openBrowser(svc).get('/oauth/login', { ...navigation, 'accept-language': 'ar' })
  t.equal(headers['content-language'], 'ar')
  t.match(headers.vary, /Accept-Language/)
  t.match(body, '<html lang="ar" dir="rtl" ')
})

t.test('shows error pages in the language of the browser', async (t) => {
  const svc = await buildTestApp(t, { settings: { i18n: { messages: { de: { 'error.not_found': 'Nicht da' } } } } })
  const { body } = await openBrowser(svc).get('/nowhere', { ...navigation, 'accept-language': 'de' })
  t.match(body, /<html lang="de"[\s\S]+Nicht da/)
})

t.test('keeps the chosen language in the browser and returns to the page', async (t) => {
  const svc = await buildTestApp(t)
  const browser = openBrowser(svc)
  const chosen = await choose(browser, 'fr', '/oauth/login?return_to=%2F')
  t.equal(chosen.statusCode, 303)
  t.equal(chosen.headers.location, '/oauth/login?return_to=%2F')
  t.match(String(chosen.headers['set-cookie']), /svc_language=fr; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Lax/)
  t.equal(await languageFor(browser, 'de'), 'fr')
  t.equal(await languageFor(browser, 'de', '/oauth/login?ui_locales=pl%20de'), 'pl', 'ui_locales come first')
  const { body } = await browser.get('/oauth/login?ui_locales=pl&return_to=%2F', navigation)
  t.match(body, 'name="return_to" value="/oauth/login?return_to=%2F"', 'the switch replaces ui_locales')
  await browser.jar.setCookie('svc_language=xx', own)
  t.equal(await languageFor(browser, 'de'), 'de')
})

t.test('returns to the empty form after a form with a mistake', async (t) => {
  const svc = await buildTestApp(t)
  const browser = openBrowser(svc)
  const { body: page } = await browser.get('/oauth/login?return_to=%2Faccount', navigation)
  const fields = { _token: hiddenToken(page), return_to: '/account', email: 'ada@example.com', password: 'wrong' }
  const { body } = await browser.post('/oauth/login', encode(fields), form)
  t.match(body, 'name="return_to" value="/oauth/login?return_to=%2Faccount"')
})

t.test('redirects to no other site and rejects unknown languages', async (t) => {
  const svc = await buildTestApp(t, { settings: { i18n: { languages: ['en', 'de'] } } })
  for (const target of ['https://evil.example/', '//evil.example', '/\\evil.example', 'javascript:alert(1)', '']) {
    const chosen = await choose(openBrowser(svc), 'de', target)
    t.equal(chosen.headers.location, '/', target)
  }
  for (const language of ['fr', 'xx', '', '__proto__', 'de\r\nx: y']) {
    const refused = await choose(openBrowser(svc), language)
    t.equal(refused.statusCode, 422, language)
    t.equal(
      refused.headers['set-cookie'] === undefined || !/svc_language/.test(String(refused.headers['set-cookie'])),
      true,
    )
  }
})

t.test("stores a signed-in user's choice for other browsers, and only from svc's own form", async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const storedLanguage = async () =>
    (await svc.database.prisma.user.findUniqueOrThrow({ where: { id: BigInt(user.id) } })).language
  const browser = openBrowser(svc)
  const signIn = (other: Browser) =>
    other.post('/login', { email: user.email, password: 'correct horse' }, { 'sec-fetch-site': 'same-origin' })
  await signIn(browser)
  for (const headers of [form, { ...form, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }]) {
    const forged = await browser.post('/oauth/language', encode({ language: 'de', return_to: '/' }), headers)
    t.equal(forged.statusCode, 419)
  }
  t.equal(await storedLanguage(), null)

  t.equal((await choose(browser, 'it')).statusCode, 303)
  t.equal(await storedLanguage(), 'it')
  const second = openBrowser(svc)
  t.equal(await languageFor(second, 'de'), 'de')
  await signIn(second)
  t.equal(await languageFor(second, 'de', '/'), 'it')
  t.notOk('language' in (await second.get('/api/user')).json())
})

t.test('shows no switch for a single language', async (t) => {
  const svc = await buildTestApp(t, { settings: { i18n: { languages: ['en'] } } })
  t.notMatch((await openBrowser(svc).get('/oauth/login', navigation)).body, '/oauth/language')
})
