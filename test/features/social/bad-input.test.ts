import t from 'tap'
import { chance, methods, odd, oddValues, pick } from '../../platform/http/odd-requests.ts'
import { buildSocial, mobileUri, type Social, Visitor } from './visitor.ts'

const names = ['code', 'state', 'iss', 'error', 'error_description', 'stateless', 'device_name', 'return_to', 'confirm']
const fields = ['code', 'redirect_uri', 'code_verifier', 'nonce', 'device_name', 'challenge', 'recovery_code']
const providers = [
  'acme',
  'github',
  'acme',
  'github',
  'unknown',
  '__proto__',
  'constructor',
  '%00',
  '%ff',
  '..',
  'A',
  ' ',
]
const paths = ['redirect', 'callback', 'callback', 'callback', 'token', 'token', '', 'x']
const bytes = ['%00', '%ff%fe', '%c0%80', '%ed%a0%80', '%', '%zz', '%0d%0aset-cookie:%20a=b']

const encoded = (values: [string, string][]): string =>
  values.map(([name, value]) => `${encodeURIComponent(name)}=${chance(0.1) ? pick(bytes) : value}`).join('&')

/** Values that may be mistaken for a state, a code or a cookie. */
const valueFor = (name: string, good: URLSearchParams): string => {
  const value = good.get(name)
  const known = value !== null && chance(0.6) ? value : pick(odd)
  return encodeURIComponent((chance(0.2) ? pick([`${known}x`, known.slice(1), known + known]) : known).toWellFormed())
}

function oddRequest(good: URLSearchParams) {
  const method = chance(0.8) ? pick(['GET', 'POST'] as const) : pick(methods)
  const path = pick(paths)
  const chosen = (path === 'token' ? fields : names).filter(() => chance(0.6))
  if (chance(0.1)) chosen.push(pick(oddValues))
  if (chance(0.1)) chosen.push('state')
  const text = encoded(chosen.map((name): [string, string] => [name.toWellFormed(), valueFor(name, good)]))
  const body = Object.fromEntries(chosen.map((name) => [name, chance(0.5) ? pick(odd) : pick([1, null, [], {}, true])]))
  const hasBody = !['GET', 'HEAD', 'OPTIONS'].includes(method)
  const type = pick(['application/x-www-form-urlencoded', 'application/json', 'text/plain', 'multipart/form-data'])
  return {
    method,
    path: `/auth/${pick(providers)}/${path}${hasBody && chance(0.8) ? '' : `?${text}`}`,
    body: hasBody ? Buffer.from(type === 'application/json' ? JSON.stringify(body) : text) : undefined,
    headers: {
      accept: pick(['text/html', 'application/json', '*/*', '']),
      ...(hasBody ? { 'content-type': type } : {}),
      'sec-fetch-site': pick(['cross-site', 'same-origin', 'none', 'x']),
    },
  }
}

t.test('answers hundreds of odd requests without a 5xx, a session or an account', async (t) => {
  const svc = await buildSocial(t, { acme: { redirect_uris: [mobileUri] } })
  let visitor = new Visitor(svc)
  let good = new URLSearchParams()
  const statuses = new Map<number, number>()
  for (let count = 0; count < 700; count++) {
    if (count % 20 === 0) {
      visitor = new Visitor(svc)
      good = (await visitor.allow(await visitor.begin(pick(['acme', 'github'])), pick(['nameless', 'hasty'])))
        .searchParams
    }
    const { method, path, body, headers } = oddRequest(good)
    if (chance(0.1)) {
      const [cookie] = await visitor.browser.jar.getCookies('http://localhost:8000/auth/acme/callback')
      if (cookie) {
        cookie.value = pick([...odd, `${cookie.value}x`, 'a.b.c']).replace(/[^\x21-\x7e]|[;,"\\]/g, '')
        await visitor.browser.jar.setCookie(cookie, 'http://localhost:8000/auth/acme/callback')
      }
    }
    const verb = method as 'GET' | 'POST'
    const answer = await visitor.browser.send(verb, path, body, { ...headers, origin: undefined, referer: undefined })
    statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1)
    if (answer.statusCode >= 500) t.fail(`${method} ${path} ${body}: ${answer.statusCode} ${answer.body}`)
    const { location } = answer.headers
    if (location !== undefined) {
      const { origin } = new URL(location, 'http://localhost:8000')
      const own = ['http://localhost:5173', 'http://localhost:8000', svc.acme.issuer, svc.forge.url]
      if (!own.includes(origin)) t.fail(`${method} ${path} leads to ${location}`)
    }
  }
  t.ok((statuses.get(400) ?? 0) + (statuses.get(302) ?? 0) + (statuses.get(303) ?? 0) > 100, 'many of them got far')
  t.equal(await svc.database.prisma.user.count(), 0)
  t.equal((await svc.app.inject('/health/ready')).statusCode, 200)
})

/** Everything about a sign-in that must not appear in a log. */
function secretsOf(svc: Social, urls: URL[]): string[] {
  const passed = urls.flatMap(({ searchParams }) =>
    ['code', 'state', 'nonce', 'code_challenge'].map((name) => searchParams.get(name)),
  )
  const sent = [...svc.acme.calls, ...svc.forge.calls].flatMap(({ form, headers }) => [
    form.get('code_verifier'),
    form.get('client_secret'),
    headers.authorization?.split(' ')[1],
  ])
  const own = [svc.acme.settings.client_secret, svc.forge.settings.client_secret]
  return [...passed, ...sent, ...own].filter((value) => typeof value === 'string' && value.length > 8) as string[]
}

t.test('logs no secret, whatever the outcome of a sign-in', async (t) => {
  const svc = await buildSocial(t, { acme: { store_tokens: true, redirect_uris: [mobileUri] } })
  const urls: URL[] = []
  const cookies: string[] = []
  const walk = async (provider: string, login: string, query: Record<string, string> = {}, change = (_: URL) => {}) => {
    const visitor = new Visitor(svc)
    const at = await visitor.begin(provider, query)
    for (const { value } of await visitor.browser.jar.getCookies('http://localhost:8000/auth/acme/callback')) {
      cookies.push(value)
    }
    const back = await visitor.allow(at, login)
    change(back)
    urls.push(at, back)
    const answer = await visitor.back(back)
    await visitor.back(back)
    return answer
  }
  await walk('acme', 'grace')
  await walk('github', 'wayland')
  const { token } = (await walk('acme', 'grace', { stateless: '1', device_name: 'Phone' })).json()
  t.ok(token)
  await walk('acme', 'nameless')
  await walk('acme', 'grace', {}, (url) => url.searchParams.set('iss', 'https://evil.example'))
  await walk('acme', 'grace', {}, (url) => url.searchParams.set('error', 'a-secret-of-the-provider'))
  svc.acme.changeIdToken((claims) => ({ ...claims, nonce: 'wrong' }))
  await walk('acme', 'grace')
  const leak = '{"error":"invalid_grant","error_description":"a-secret-of-the-provider"}'
  svc.acme.instead.set('/token', (answer) => ({ ...answer, status: 400, body: leak }))
  await walk('acme', 'grace')
  for (const body of ['{"access_token":"a-secret-of-the-provider', 'Zq7-secret']) {
    svc.acme.instead.set('/token', (answer) => ({ ...answer, body }))
    await walk('acme', 'grace')
  }
  svc.acme.instead.clear()
  svc.acme.changeUserinfo((claims) => ({ ...claims, sub: 'a-secret-of-the-provider' }))
  await walk('acme', 'grace')
  svc.forge.instead.set('/user', (response) => response.writeHead(500).end('a-secret-of-the-provider'))
  await walk('github', 'wayland')
  svc.forge.instead.set('/user', (response) => response.end('Zq7-secret'))
  await walk('github', 'wayland')
  const verifier = 'the-verifier-that-an-app-handed-in-0123456789'
  const handed = { code: 'the-code-that-an-app-handed-in', redirect_uri: mobileUri, code_verifier: verifier }
  const payload = { ...handed, nonce: 'the-nonce-that-an-app-handed-in', device_name: 'x' }
  await svc.app.inject({ method: 'POST', url: '/auth/acme/token', payload })

  const log = svc.logs.join('\n')
  const secrets = [...secretsOf(svc, urls), ...cookies, ...Object.values(payload).slice(0, 1), verifier, payload.nonce]
  t.ok(secrets.length > 40)
  for (const secret of [...secrets, token, 'a-secret-of-the-provider', 'Zq7-secret', 'gho_', 'grace@example.com']) {
    t.notOk(log.includes(secret), secret)
    t.notOk(log.includes(encodeURIComponent(secret)), secret)
  }
  const events = JSON.stringify((await svc.database.prisma.event.findMany()).map(({ type, data }) => [type, data]))
  for (const secret of [...secrets, token]) t.notOk(events.includes(secret), secret)
  t.match(log, 'provider_error', 'the reason of a failure is logged')
  for (const name of ['invalid_state', 'email_missing']) t.match(log, name)
})
