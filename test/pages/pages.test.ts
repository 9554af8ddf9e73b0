// engine: none
import { globSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { testConfig } from '../support/app.ts'
import { buildGallery, galleryPaths } from '../support/gallery.ts'
import { hostile } from '../support/gallery-parts.ts'

const navigation = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

const titleOf = (html: string): string | undefined => /<title>([^<]*)<\/title>/.exec(html)?.[1]

function directory(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-pages-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

t.test('has stable titles, ids and fields on its pages', async (t) => {
  const app = await buildGallery(t, { app: { name: 'Acme & Sons' } })
  for (const [path, title, ...parts] of [
    ['/login', 'Sign in', 'id="login-submit"', 'name="email"', 'name="password"', 'name="remember"', 'name="_token"'],
    ['/challenge', 'Two-factor authentication', 'id="challenge-submit"', 'name="code"', 'name="recovery_code"'],
    ['/forgot', 'Forgot your password?', 'id="forgot-submit"', 'name="email"'],
    ['/reset', 'Choose a new password', 'id="reset-submit"', 'name="token"'],
    ['/home-in', 'Your account', 'action="/oauth/sign-out"', 'ada@example.com'],
    ['/consent', 'Authorize', 'id="consent-approve"', 'id="consent-deny"', 'Read your orders', 'orders.example.com'],
    ['/consent-bare', 'Authorize', 'an app on this device', 'and has no other access'],
    ['/device', 'Connect a device', 'id="device-submit"', 'name="user_code"', 'Never enter a code'],
    ['/device-aborted', 'Connect a device', 'No device was connected', 'role="status"'],
    ['/device-expired', 'Connect a device', 'This code has expired', 'role="alert"', 'name="user_code" value=""'],
    ['/device-unknown', 'Connect a device', 'already used', 'name="user_code" value="WDJB-MJHT"'],
    ['/device-confirm', 'Connect a device', 'WDJB-MJHT</p>', '2001:db8::8a2e:370:7334', 'BRAVIA', 'you started this'],
    ['/device-confirm-bare', 'Connect a device', 'id="device-ip">Unknown', 'id="device-agent">Unknown'],
    ['/device-done', 'Connect a device', 'Example TV now has access'],
    ['/logout', 'Sign out', 'id="logout-yes"', 'Example Orders asks you', 'ada@example.com'],
    ['/logout-bare', 'Sign out', 'id="logout-yes"', 'You are about to sign out'],
    ['/logged-out', 'Sign out', 'You are signed out', 'href="/"'],
    ['/message', 'Your old email address is restored', 'href="/"'],
    ['/error-404', 'Error', 'Page not found'],
  ] as const) {
    const { body, headers } = await app.inject({ url: path, headers: navigation })
    t.equal(titleOf(body), `${title} · Acme &amp; Sons`)
    t.match(headers['content-type'], /^text\/html/)
    t.equal(headers['referrer-policy'], 'same-origin')
    for (const part of parts) t.ok(body.includes(part), `${path} has ${part}`)
    t.equal(body.match(/<h1>/g)?.length, 1)
  }
})

/** Templates that other templates include. */
const included = [
  'application-links',
  'application-logo',
  'form-errors',
  'form-fields',
  'layout',
  'menu',
  'notice',
  'password-tools',
  'provider-mark',
  'when',
]

t.test('shows every page, and every part of a page, in the gallery', async (t) => {
  const app = await buildGallery(t)
  const bodies = await Promise.all(
    galleryPaths.map(async (url) => (await app.inject({ url, headers: navigation })).body),
  )
  const shown = new Set(bodies.map((body) => /<body class="page-([\w-]+)">/.exec(body)?.[1]))
  const source = resolve(import.meta.dirname, '../../src')
  const templates = globSync('pages/templates/*.eta', { cwd: source }).map((file) => basename(file, '.eta'))
  t.same(
    templates.filter((name) => !included.includes(name) && !shown.has(name)),
    [],
  )
  const parts = globSync('features/*/pages/*.eta', { cwd: source })
  t.ok(parts.length > 4)
  for (const part of parts) {
    const ids = readFileSync(join(source, part), 'utf8').match(/id="[\w-]+"/g) ?? []
    t.same(
      ids.filter((id) => !bodies.some((body) => body.includes(id))),
      [],
      part,
    )
  }
})

t.test('names the product, and svc only to developers', async (t) => {
  const app = await buildGallery(t, { app: { name: 'Acme' } })
  const named: string[] = []
  for (const url of galleryPaths) {
    const { body } = await app.inject({ url, headers: navigation })
    if (/\bsvc\b/i.test(body.replace(/<style[\s\S]*?<\/style>|<[^>]+>/g, ' '))) named.push(url)
  }
  t.strictSame(named, ['/diagnose', '/errors'])
})

t.test('escapes all values in pages', async (t) => {
  const settings = {
    app: { name: hostile.slice(0, 100) },
    theme: { logo: hostile, texts: { 'login.title': hostile.replace('{{', "'{{'") } },
  }
  const app = await buildGallery(t, settings)
  for (const path of galleryPaths) {
    const { body } = await app.inject({ url: path, headers: navigation })
    t.notOk(body.includes('<script>') || body.includes('<img src=x'), path)
    const logo = /<img (class="application-logo" )?src="[^"]*" alt="[^"]*"( referrerpolicy="no-referrer")?>/g
    t.notMatch(body.replace(logo, ''), /<img/)
  }
})

t.test('shows an error as a page to browsers and as JSON to programs, without internals', async (t) => {
  const lines: string[] = []
  const app = await buildGallery(t, {}, (line) => lines.push(line))
  for (const [status, code, text] of [
    [404, 'not_found', 'Page not found'],
    [419, 'csrf_mismatch', 'This page has expired'],
    [422, 'validation_failed', 'The password field breaks rule 0'],
    [429, 'too_many_requests', 'Please try again in 60 seconds.'],
    [500, 'server_error', 'Something went wrong on our side'],
  ] as const) {
    const page = await app.inject({ url: `/error-${status}`, headers: navigation })
    t.equal(page.statusCode, status)
    t.equal(titleOf(page.body), 'Error · svc')
    t.ok(page.body.includes(text), text)
    t.notMatch(page.body, /secret of the inside|\.ts\b|at async/)
    if (status === 429) t.equal(page.headers['retry-after'], '60')
    const reload = `<a class="button primary" href="/error-${status}">Reload the page</a>`
    t.equal(page.body.includes(reload), ![404, 422].includes(status), 'offers another try if it may help')
    for (const accept of ['application/json', 'application/json, text/html', '*/*', '']) {
      const json = await app.inject({ url: `/error-${status}`, headers: { accept } })
      t.equal(json.statusCode, status)
      t.match(json.json(), { code, message: String })
      t.notMatch(json.body, 'secret of the inside')
    }
  }
  t.match(lines.join(''), 'secret of the inside', 'the log has it')
})

t.test('has a strict policy that allows the logo and the targets of forms', async (t) => {
  const policyOf = async (settings: object): Promise<Record<string, string>> => {
    const { headers } = await (await buildGallery(t, { ...settings })).inject({ url: '/login-full' })
    const directives = String(headers['content-security-policy']).split(';')
    return Object.fromEntries(directives.map((text) => [text.split(' ')[0], text.split(' ').slice(1).join(' ').trim()]))
  }
  const plain = await policyOf({})
  t.match(plain, {
    'default-src': "'none'",
    'img-src': "'self'",
    'form-action': "'self'",
    'base-uri': "'none'",
    'frame-ancestors': "'none'",
  })
  t.match(plain['style-src'], /^'self' 'nonce-\w+'$/)
  t.match(plain['script-src'], /^'self'( 'nonce-\w+')?$/)
  const { headers } = await (await buildGallery(t, {})).inject({ url: '/login-full' })
  t.match(headers['permissions-policy'], /camera=\(\), .*geolocation=\(\)/)
  t.notMatch(headers['permissions-policy'], 'publickey-credentials', 'passkeys are allowed')
  for (const [logo, source] of [
    ['https://cdn.example/logo.svg', "'self' https://cdn.example"],
    ['http://localhost:8000/logo.svg', "'self'"],
    ['/logo.svg', "'self'"],
    ['data:image/png;base64,AAAA', "'self' data:"],
    ["https://x;script-src'unsafe-inline'/x", "'self'"],
    ['javascript:alert(1)', "'self'"],
  ] as const) {
    t.equal((await policyOf({ theme: { logo } }))['img-src'], source, logo)
  }
  const spa = { app: { frontend_url: 'https://app.example' }, links: { after_verify: 'https://www.example/thanks' } }
  t.equal((await policyOf(spa))['form-action'], "'self'", 'forms continue there by a page')
})

t.test('applies the theme of the active configuration', async (t) => {
  const app = await buildGallery(t, { app: { name: 'Acme' } })
  const shown = async () => (await app.inject('/login')).body
  t.match(await shown(), /<p><span class="monogram" aria-hidden="true">A<\/span>Acme<\/p>/)
  const theme = {
    logo: 'https://cdn.example/logo.svg',
    colors: { accent: '#0a7', 'accent-dark': 'oklch(0.7 0.1 200)' },
    texts: { 'login.title': 'Bei {app} anmelden' },
  }
  app.config.swap(testConfig({ app: { name: 'Acme' }, theme }).current())
  const themed = await shown()
  t.match(themed, '<img src="https://cdn.example/logo.svg" alt="Acme">')
  t.match(themed, ':root { --accent: #0a7; }')
  t.match(themed, '@media (prefers-color-scheme: dark) { :root { --accent: oklch(0.7 0.1 200); } }')
  t.match(themed, '<h1>Bei Acme anmelden</h1>')
})

t.test('overrides templates file by file without a restart, and survives a broken one', async (t) => {
  const pages = directory(t)
  const lines: string[] = []
  const app = await buildGallery(t, { templates: { pages } }, (line) => lines.push(line))
  const override = (text: string, seconds: number, file = 'login.eta') => {
    writeFileSync(join(pages, file), text)
    utimesSync(join(pages, file), seconds, seconds)
  }
  const shown = async (path = '/login') => (await app.inject(path)).body
  t.match(await shown(), 'id="login-submit"')
  override("<h1>Ours, <%= it.app.name %>: <%= it.text('login.submit') %> <%= it.action %></h1>", 1)
  t.match(await shown(), '<h1>Ours, svc: Sign in /oauth/login</h1>')
  t.match(await shown(), '<title>Sign in · svc</title>', 'in the layout that is not overridden')
  t.match(await shown('/challenge'), 'id="challenge-submit"', 'beside built-in files')
  override('<h1>Newer</h1>', 2)
  t.match(await shown(), '<h1>Newer</h1>')
  t.equal(lines.filter((line) => line.includes('invalid template')).length, 0)

  for (const [index, broken] of [
    '<% if ( %>',
    '<%= it.missing.name %>',
    "<%~ include('./none') %>",
    '<% throw 1 %>',
  ].entries()) {
    override(broken, 3 + index)
    lines.length = 0
    const answer = await app.inject('/login')
    t.equal(answer.statusCode, 200)
    t.match(answer.body, 'id="login-submit"', broken)
    const line = JSON.parse(lines.find((text) => text.includes('invalid template')) ?? '{}')
    t.equal(line.level, 50)
    t.ok(line.err.message.startsWith(`The template ${join(pages, 'login.eta')} cannot be rendered: `), line.err.message)
  }
  override('<%= it.nothing.at.all %>', 1, 'layout.eta')
  t.match(await shown('/challenge'), '<title>Two-factor authentication')
  override('body { color: red }', 1, 'style.css')
  t.match(await shown('/challenge'), 'body { color: red }')
  rmSync(join(pages, 'login.eta'))
  lines.length = 0
  t.match(await shown(), 'id="login-submit"')
  app.config.swap(testConfig({}).current())
  t.notMatch(await shown(), 'body { color: red }', 'another configuration, without the directory')
})

t.test('links to help, privacy policy and terms below each page, where the configuration has them', async (t) => {
  const links = { help: 'https://help.example.com/?a=1&b=2', privacy: '{frontend_url}/privacy', terms: '/terms' }
  const app = await buildGallery(t, { app: { frontend_url: 'https://app.example' }, links })
  const plain = await buildGallery(t)
  for (const path of ['/login', '/consent', '/error-404']) {
    const { body } = await app.inject({ url: path, headers: navigation })
    t.match(body, '<a href="https://help.example.com/?a=1&amp;b=2">Help</a>', path)
    t.match(body, '<a href="https://app.example/privacy">Privacy</a>', path)
    t.match(body, '<a href="/terms">Terms</a>', path)
    t.notMatch((await plain.inject({ url: path, headers: navigation })).body, /<footer>\s*<a/, path)
  }
})

t.test('keeps addresses, tokens and names in order on right-to-left pages', async (t) => {
  const app = await buildGallery(t)
  const open = async (path: string, language: string) =>
    (await app.inject({ url: path, headers: { ...navigation, 'accept-language': language } })).body
  const address = '2001:db8::8a2e:370:7334'
  t.match(await open('/account-sessions', 'ar'), `\u2068${address}\u2069`)
  t.match(await open('/account-sessions', 'en'), `IP address: ${address}`)
  t.match(await open('/account-activity', 'ar'), `<bdi>${address}</bdi>`)
  t.match(await open('/device-confirm', 'ar'), `<bdi id="device-ip">${address}</bdi>`)
  t.match(await open('/consent', 'ar'), /<h1>[^<]*\u2068Example Orders\u2069/)
})
