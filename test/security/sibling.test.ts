// engine: none
import t from 'tap'
import { hasChromium } from '../support/chromium.ts'
import { openSitesBrowser, postForm, signedInAt, signInAt, startSites } from '../support/sites.ts'

const device = { client_id: 'tv', type: 'public', first_party: true, grants: ['device_code'], scopes: ['orders:read'] }
const settings = (same_site: string, domain: string | null) => () => ({
  session: { same_site, domain },
  scopes: { 'orders:read': 'Read your orders' },
  rate_limits: { login: null },
  clients: [device],
})

/** Every current and former name of svc's cookies. */
const names = [
  'svc_session',
  'svc_remember',
  'svc_oauth_session',
  'svc_oauth_session.sig',
  'svc_social_0123456789abcdef',
]
const tossed = [...names.flatMap((name) => [name, `__Secure-${name}`, `__Host-${name}`]), 'XSRF-TOKEN']

if (hasChromium(t)) {
  t.test('a sibling subdomain', async (t) => {
    const browser = await openSitesBrowser(t)
    for (const [same_site, domain] of [
      ['lax', null],
      ['strict', null],
      ['lax', '.corp.example'],
    ] as const) {
      await t.test(`cannot act for a visitor with planted cookies: ${same_site}, ${domain}`, async (t) => {
        await browser.clearCookies()
        const sites = await startSites(t, settings(same_site, domain), browser)
        const { at, svc } = sites
        const { email } = await svc.createUser()
        const attacker = svc.browser({ origin: at.svc, url: at.svc, xsrf: false })
        const mallory = await svc.createUser()
        const form = await attacker.get('/oauth/device', { accept: 'text/html', referer: undefined })
        const [, secret = ''] = /name="xsrf" value="([^"]+)"/.exec(form.body) ?? []
        const same = { 'sec-fetch-site': 'same-origin' }
        const login = { email: mallory.email, password: 'correct horse', remember: true }
        t.equal((await attacker.post('/login', login, same)).statusCode, 200)
        const values = await attacker.jar.getCookies(`${at.svc}/`)
        const attackersValue = (name: string) =>
          values.find(({ key }) => key.replace(/^__(Host|Secure)-/, '') === name.replace(/^__(Host|Secure)-/, ''))
            ?.value

        const page = await browser.newPage()
        await signInAt(sites, page, email)
        const body = new URLSearchParams({ client_id: 'tv' }).toString()
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        const begun = await svc.app.inject({ method: 'POST', url: '/oauth/device/code', headers, payload: body })
        const { user_code, device_code } = begun.json()
        await page.goto(at.sibling)
        for (const name of tossed) {
          for (const path of ['/', '/oauth', '/oauth/device', '/user', '/api']) {
            const cookie = `${name}=${attackersValue(name) ?? 'planted'}; Domain=corp.example; Path=${path}; Secure; SameSite=None`
            await page.evaluate(`document.cookie = ${JSON.stringify(cookie)}`)
          }
        }
        await postForm(page, `${at.svc}/oauth/device`, { xsrf: secret, user_code, confirm: 'yes' })
        t.equal(sites.traffic.at(-1)?.status, 419, 'the form of the device is rejected')
        t.match(sites.traffic.at(-1)?.cookie, /(^|; )svc_session=/, 'the planted cookies arrived')
        const payload = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', client_id: 'tv', device_code }
        const polled = await svc.app.inject({ method: 'POST', url: '/oauth/token', payload })
        t.match(polled.json(), { error: 'authorization_pending' })

        await page.goto(at.sibling)
        const _token = attackersValue('XSRF-TOKEN') ?? ''
        await postForm(page, `${at.svc}/oauth/login`, { _token, email: mallory.email, password: 'correct horse' })
        t.equal(sites.traffic.at(-1)?.status, 419, 'no visitor is signed in to another account')
        const user = await signedInAt(sites, page)
        if (domain === null) t.equal(user, email, 'the visitor stays signed in')
        else t.not(user, mallory.email, 'at worst the visitor is signed out, and never another user')
        await page.goto(`${at.svc}/oauth/device`)
        t.notMatch(await page.content(), secret, 'the planted session is not used')
        await page.close()
      })
    }
  })

  t.test('cannot put a page of svc in a frame', async (t) => {
    const sites = await startSites(t, settings('none', null), await openSitesBrowser(t))
    const { at, browser, svc } = sites
    const page = await browser.newPage()
    await signInAt(sites, page, (await svc.createUser()).email)
    for (const from of [at.sibling, at.other]) {
      for (const path of ['/', '/oauth/login', '/oauth/device', '/oauth/logout']) {
        await page.goto(from)
        await page.evaluate(`new Promise((resolve) => {
          const frame = document.createElement('iframe')
          frame.onload = frame.onerror = resolve
          frame.src = ${JSON.stringify(at.svc + path)}
          document.body.append(frame)
        })`)
        const [, frame] = page.frames()
        t.notMatch(await frame?.content(), '<form', `${path} from ${from}`)
      }
    }
  })
}
