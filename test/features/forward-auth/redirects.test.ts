// engine: none
import t from 'tap'
import { minute } from '../../support/clock.ts'
import { credentials, ScriptlessBrowser } from '../../support/plain.ts'
import { travel } from '../../support/time.ts'
import { codeAt } from '../../support/totp.ts'
import { app, signedIn } from './sessions.ts'
import { api, buildGuarded, navigation } from './setup.ts'

const rules = [{ hosts: ['api.example.com', '*.internal.example.com', 'elsewhere.example'] }]
const page = `https://auth.example.com/oauth/login?return_to=${encodeURIComponent(`${api}/orders/1?a=b`)}`
const url = `${api}/orders/1?a=b`

t.test('sends a browser navigation without a session to the sign-in page', async (t) => {
  const svc = await buildGuarded(t, rules)
  const answer = await svc.ask({ url, headers: navigation })
  t.equal(answer.statusCode, 302)
  t.equal(answer.headers.location, page)
  t.equal((await svc.ask({ url, method: 'HEAD', headers: navigation })).statusCode, 302)
})

t.test('answers programs and every other request with 401', async (t) => {
  const svc = await buildGuarded(t, rules)
  const requests: Record<string, object> = {
    'a program': {},
    JSON: { headers: { accept: 'application/json' } },
    'a form': { method: 'POST', headers: navigation },
    'a frame': { headers: { ...navigation, 'sec-fetch-dest': 'iframe' } },
    'a fetch that accepts anything': { headers: { 'sec-fetch-mode': 'cors', accept: '*/*' } },
    'an invalid token': { headers: { ...navigation, authorization: 'Bearer x' } },
    'a host without the cookie': { url: 'https://elsewhere.example/', headers: navigation },
  }
  for (const [name, original] of Object.entries(requests)) {
    const answer = await svc.ask({ url, ...original })
    t.equal(answer.statusCode, 401, name)
    t.match(answer.json(), { code: 'unauthenticated', message: 'Unauthenticated.' })
    t.match(answer.headers['www-authenticate'], /^Bearer/)
  }
})

t.test('answers nginx with 401 and 403 only, and puts the rest into headers', async (t) => {
  const svc = await buildGuarded(t, [{ paths: ['/staff'], roles: ['staff'] }, ...rules])
  const query = '?redirect=401'
  const guest = await svc.askAsNginx({ url, query, headers: navigation })
  t.equal(guest.statusCode, 401)
  t.equal(guest.headers.location, page)
  const program = await svc.askAsNginx({ url, query })
  t.equal(program.statusCode, 401)
  t.notHas(program.headers, { location: '' })
  const user = await svc.createUser()
  const authorization = `Bearer ${await svc.createToken(user)}`
  const cookie = await signedIn(svc, user.email)
  const cases = [
    [{ url: `${api}/staff`, headers: { authorization } }, 'forbidden'],
    [{ url: `${api}/%00` }, 'invalid_original_request'],
    [{ method: 'POST', headers: { cookie, origin: app } }, 'csrf_mismatch'],
  ] as const
  for (const [original, code] of cases) {
    const answer = await svc.askAsNginx({ ...original, query })
    t.equal(answer.statusCode, 403)
    t.equal(answer.headers['svc-error'], code)
  }
  t.equal((await svc.askAsNginx({ query: '?redirect=302', headers: navigation })).statusCode, 422, 'another value')
})

t.test('asks for a new sign-in where the rule needs a confirmation or a second factor', async (t) => {
  const svc = await buildGuarded(t, [
    { paths: ['/recent'], confirmed_within: '1h' },
    { paths: ['/second'], second_factor: true },
  ])
  const user = await svc.createUser()
  const cookie = await signedIn(svc, user.email)
  const visit = (path: string) => svc.ask({ url: api + path, headers: { ...navigation, cookie } })
  travel(svc, 61 * minute)
  const recent = await visit('/recent')
  t.equal(recent.statusCode, 302)
  t.match(new URL(recent.headers.location ?? '').searchParams.get('prompt'), 'login')
})

t.test('leads a user without a second factor to the page that sets one up, and back', async (t) => {
  const second = [{ hosts: ['api.example.com'], second_factor: true }]
  const svc = await buildGuarded(t, second)
  const { email } = await svc.createUser()
  const cookie = await signedIn(svc, email)
  const visit = () => svc.ask({ url, headers: { ...navigation, cookie } })
  const answer = await visit()
  t.equal(answer.statusCode, 302)
  const page = `/account/two-factor?return_to=${encodeURIComponent(url)}`
  t.equal(answer.headers.location, `https://auth.example.com${page}`)
  t.equal((await svc.ask({ url, headers: { cookie, origin: app } })).statusCode, 403, 'a program')

  const browser = new ScriptlessBrowser(svc.browser({ url: 'https://auth.example.com', xsrf: false }))
  await browser.send('/oauth/login', credentials(email))
  const shown = (await browser.open(page)).body
  t.match(shown, 'The page that you opened requires two-factor authentication.')
  const setup = page.replace('?', '/setup?')
  t.match(shown, `href="${setup}"`)
  t.equal((await browser.press(setup, 'start-two-factor')).headers.location, setup)
  const secret = /id="secret-key">([\w ]+)</.exec((await browser.open(setup)).body)?.[1]?.replaceAll(' ', '') ?? ''
  const wrong = await browser.send(setup, { code: '12' })
  t.match(wrong.body, `name="return_to" value="${url.replace('&', '&amp;')}"`)
  const codes = await browser.send(setup, { code: codeAt(secret, svc.clock.now()) })
  t.match(codes.body, `id="codes-saved" href="${url}"`)
  t.match((await browser.open(page)).body, `id="continue" href="${url}"`)
  // The session began without the second factor, so the guard asks for a new sign-in.
  const own = await browser.browser.jar.getCookieString('https://api.example.com/')
  const again = await svc.ask({ url, headers: { ...navigation, cookie: own } })
  t.match(again.headers.location, /^https:\/\/auth\.example\.com\/oauth\/login\?.*prompt=login$/)

  for (const target of ['https://evil.example/', '//evil.example', 'javascript:alert(1)']) {
    const body = (await browser.open(`/account/two-factor?return_to=${encodeURIComponent(target)}`)).body
    t.notMatch(body, 'id="continue"', target)
    t.notMatch(body, `href="${target}`)
    t.notMatch(body, 'id="required"')
  }
  for (const settings of [{ account: { sections: [] } }, { links: { account: 'https://app.example.com/me' } }]) {
    const hidden = await buildGuarded(t, second, settings)
    const visitor = await signedIn(hidden, (await hidden.createUser()).email)
    t.equal((await hidden.ask({ url, headers: { ...navigation, cookie: visitor } })).statusCode, 403)
  }
})

t.test('continues at the service after the sign-in', async (t) => {
  const svc = await buildGuarded(t, rules)
  const user = await svc.createUser()
  const browser = svc.browser({ url: 'https://auth.example.com' })
  const target = '/oauth/login?return_to='
  const shown = await browser.get(target + encodeURIComponent(url), { accept: 'text/html' })
  t.equal(shown.statusCode, 200)
  const form = { email: user.email, password: 'correct horse', return_to: url }
  const done = await browser.post('/oauth/login', form, { 'sec-fetch-site': 'same-origin', accept: 'text/html' })
  t.equal(done.headers.refresh, `0; url=${url}`)
  t.match(done.body, `href="${url.replaceAll('&', '&amp;')}"`)
  const again = await browser.get(target + encodeURIComponent(url), { accept: 'text/html' })
  t.equal(again.headers.location, url, 'a browser that is signed in continues at once')
})

t.test('redirects to no other host', async (t) => {
  const svc = await buildGuarded(t, rules)
  const browser = svc.browser({ url: 'https://auth.example.com' })
  await browser.signIn((await svc.createUser()).email)
  const targetOf = async (text: string) => {
    const answer = await browser.get(`/oauth/login?return_to=${encodeURIComponent(text)}`, { accept: 'text/html' })
    return answer.headers.location
  }
  for (const good of ['https://api.example.com/', 'https://a.internal.example.com:8443/x?y#z'])
    t.equal(await targetOf(good), good)
  const bad = [
    'http://api.example.com/',
    'https://evil.example/',
    'https://api.example.com.evil.example/',
    'https://api.example.com@evil.example/',
    'https://evil.example/api.example.com',
    'https://evil.example\\@api.example.com/',
    'https://api.example.com\\.evil.example/',
    'https://a.b.internal.example.com/',
    'https://internal.example.com/',
    '//api.example.com/',
    'https:api.example.com/',
    'https:///api.example.com/',
    'HTTPS://evil.example/',
    'javascript://api.example.com/%0aalert(1)',
    'https://api.example.com/\r\nSet-Cookie: x=y',
    'https://api.example.com%2eevil.example/',
    'https://api.example.com:x/',
  ]
  for (const text of bad) t.equal(await targetOf(text), '/', text)
})
