// engine: none
import { exportPKCS8, generateKeyPair, jwtVerify } from 'jose'
import t from 'tap'
import { socialLinks } from '../../../src/features/social/buttons.ts'
import { appleSecret } from '../../../src/features/social/providers/apple-secret.ts'
import { appleName, primaryEmail, profileOf } from '../../../src/features/social/providers/profile.ts'
import { findProvider, listProviders } from '../../../src/features/social/providers/provider.ts'
import { buildTestApp, testConfig } from '../../support/app.ts'
import { Visitor } from './visitor.ts'

const own = () => ({ client_id: 'the-client', client_secret: 'the-secret' })
const names = ['google', 'github', 'gitlab', 'microsoft', 'facebook', 'linkedin', 'x', 'slack', 'bitbucket', 'discord']

const pair = await generateKeyPair('ES256', { extractable: true })
const apple = {
  client_id: 'com.example.svc',
  team_id: 'TEAM',
  key_id: 'KEY',
  private_key: await exportPKCS8(pair.privateKey),
}

const social = {
  ...Object.fromEntries(names.map((name) => [name, own()])),
  microsoft: { ...own(), tenant: 'example.com' },
  apple,
  acme: { issuer: 'https://login.acme.example', ...own() },
}
const config = testConfig({ social }).current()

const provider = (id: string, given = config) => {
  const found = findProvider(given, id)
  if (!found) throw new Error(`There is no ${id}.`)
  return found
}

t.test('configures eleven providers and a custom one from their credentials alone', async (t) => {
  t.same(
    listProviders(config).map(({ id }) => id),
    [...names, 'apple', 'acme'],
  )
  const issuers = {
    google: 'https://accounts.google.com',
    gitlab: 'https://gitlab.com',
    microsoft: 'https://login.microsoftonline.com/example.com/v2.0',
    linkedin: 'https://www.linkedin.com/oauth',
    slack: 'https://slack.com',
    apple: 'https://appleid.apple.com',
    acme: 'https://login.acme.example',
  }
  for (const [id, issuer] of Object.entries(issuers)) {
    t.equal(provider(id).issuer, issuer)
    t.match(provider(id).scope, /^openid( |$)/, id)
  }
  const trusted = listProviders(config).filter(({ trust }) => trust === 'claim')
  t.same(trusted.map(({ id }) => id).sort(), [
    'acme',
    'apple',
    'bitbucket',
    'github',
    'gitlab',
    'google',
    'linkedin',
    'slack',
  ])
  for (const { id, label } of listProviders(config)) t.match(label, /^[A-Z]/, id)
  const buttons = socialLinks(config, { returnTo: null, isReauthentication: false })
  const marks = buttons.flatMap(({ mark }) => mark?.shapes[0]?.path ?? [])
  t.equal(new Set(marks).size, 11, 'each has its logo')
  t.match(buttons.at(-1), { label: 'Acme', mark: null, letter: 'A', brand: null })
  const colors = (id: string) =>
    buttons.find(({ href }) => href.includes(`/${id}/`))?.mark?.shapes.map(({ color }) => color)
  t.strictSame(colors('google'), ['#ea4335', '#4285f4', '#fbbc05', '#34a853'], "in the provider's colours")
  t.strictSame(colors('microsoft'), ['#f25022', '#7fba00', '#00a4ef', '#ffb900'])
  t.strictSame(colors('apple'), [null], 'in the colour of the text')
  t.equal(findProvider(config, 'toString'), null)
  t.equal(findProvider(config, '__proto__'), null)
  const hosted = testConfig({ social: { gitlab: { ...own(), host: 'git.example.com' } } }).current()
  t.equal(provider('gitlab', hosted).issuer, 'https://git.example.com')
})

t.test('plain OAuth 2.0: redirects to the current authorization endpoints', async (t) => {
  const svc = await buildTestApp(t, { settings: { social } })
  const asked = {
    github: ['https://github.com/login/oauth/authorize', 'user:email'],
    bitbucket: ['https://bitbucket.org/site/oauth2/authorize', 'email'],
    facebook: [/^https:\/\/www\.facebook\.com\/v\d+\.0\/dialog\/oauth$/, 'email'],
    x: ['https://x.com/i/oauth2/authorize', 'users.email'],
    discord: ['https://discord.com/oauth2/authorize', 'identify'],
  } as const
  for (const [id, [where, scope]] of Object.entries(asked)) {
    const url = await new Visitor(svc).begin(id)
    t.match(url.origin + url.pathname, where, id)
    t.match(url.searchParams.get('scope'), scope, id)
    t.match(Object.fromEntries(url.searchParams), {
      client_id: 'the-client',
      redirect_uri: `http://localhost:8000/auth/${id}/callback`,
      response_type: 'code',
      state: /^.{32,}$/,
      code_challenge: /^[\w-]{43}$/,
      code_challenge_method: 'S256',
    })
    t.notMatch(url.search, 'the-secret')
  }
  const secure = await buildTestApp(t, { settings: { app: { url: 'https://id.example.com' }, social } })
  const { headers } = await new Visitor(secure).open('/auth/github/redirect')
  const [cookie = ''] = [headers['set-cookie'] ?? []].flat().filter((line) => line.startsWith('__Host-svc_social_'))
  for (const part of [/; Secure/, /; HttpOnly/, /; SameSite=Lax/, /; Path=\/;/]) t.match(cookie, part)
  t.match(headers.location, encodeURIComponent('https://id.example.com/auth/github/callback'))
})

t.test('reads the profiles of the presets', async (t) => {
  const verified = (address: string) => ({ address, verified: true })
  const unverified = (address: string) => ({ address, verified: false })
  const profiles: [string, object, object][] = [
    [
      'google',
      { sub: '1', email: 'a@example.com', email_verified: true, name: 'A', picture: 'https://p.example/1' },
      { providerId: '1', email: verified('a@example.com'), name: 'A', avatar: 'https://p.example/1' },
    ],
    ['google', { sub: '1', email: 'a@example.com' }, { email: unverified('a@example.com'), name: null, avatar: null }],
    ['apple', { sub: '1', email: 'a@example.com', email_verified: 'true' }, { email: verified('a@example.com') }],
    ['apple', { sub: '1', email: 'a@example.com', email_verified: 'false' }, { email: unverified('a@example.com') }],
    [
      'microsoft',
      { sub: '1', email: 'a@example.com', email_verified: true },
      { email: unverified('a@example.com'), issuer: provider('microsoft').issuer },
    ],
    ['linkedin', { sub: 'l-1', name: 'A' }, { providerId: 'l-1', email: null, avatar: null }],

    [
      'facebook',
      { id: '10', name: 'A', email: 'a@example.com', picture: { data: { url: 'https://p.example/2' } } },
      { providerId: '10', email: unverified('a@example.com'), avatar: 'https://p.example/2', issuer: '' },
    ],
    [
      'x',
      { data: { id: '7', name: 'A', username: 'a', profile_image_url: 'https://p.example/3' } },
      { providerId: '7', email: null, name: 'A', avatar: 'https://p.example/3' },
    ],
    [
      'discord',
      { id: '8', email: 'a@example.com', verified: true, global_name: 'A' },
      { providerId: '8', email: unverified('a@example.com'), name: 'A' },
    ],
    [
      'bitbucket',
      { uuid: '{9}', display_name: 'A', links: { avatar: { href: 'https://p.example/4' } } },
      { providerId: '{9}', name: 'A', avatar: 'https://p.example/4' },
    ],
    [
      'github',
      { id: 4711, name: null, avatar_url: 'javascript:alert(1)' },
      { providerId: '4711', name: null, avatar: null },
    ],
    ['acme', { sub: '1', name: ` A\0\u0007${'b'.repeat(400)}` }, { name: `A${'b'.repeat(254)}` }],
  ]
  for (const [id, claims, profile] of profiles) {
    t.match(profileOf(provider(id), { ...claims }), { provider: id, ...profile }, `${id}: ${JSON.stringify(claims)}`)
  }
  for (const sub of [undefined, null, '', 1.5, 2 ** 53, true, {}, [], 'a\0', '\ud800', 'x'.repeat(256)]) {
    t.throws(() => profileOf(provider('acme'), { sub }), JSON.stringify(sub))
  }
  t.throws(() => profileOf(provider('acme'), Object.create({ sub: 'inherited' })))

  const github = (primary: unknown, isVerified: unknown) => [
    { email: 'other@example.com', primary: false, verified: true },
    { email: 'a@example.com', primary, verified: isVerified },
  ]
  t.same(primaryEmail(provider('github'), github(true, true)).email, verified('a@example.com'))
  t.same(primaryEmail(provider('github'), github(true, 'true')).email, unverified('a@example.com'))
  t.equal(primaryEmail(provider('github'), github(false, true)).email, null)
  t.equal(primaryEmail(provider('github'), []).email, null)
  const confirmed = { values: [{ email: 'a@example.com', is_primary: true, is_confirmed: true }] }
  t.same(primaryEmail(provider('bitbucket'), confirmed).email, verified('a@example.com'))
  t.throws(() => primaryEmail(provider('github'), confirmed))
  t.equal(appleName('{"name":{"firstName":"Ada","lastName":"Example"},"email":"x@example.com"}'), 'Ada Example')
  for (const odd of ['', '{', 'null', '[]', '{"name":1}', '{"__proto__":{"name":{"firstName":"x"}}}']) {
    t.equal(appleName(odd), null, odd)
  }
})

t.test('signs the client secret for Apple', async (t) => {
  const now = Date.now()
  const secret = await appleSecret(provider('apple').config, now)
  const { payload, protectedHeader } = await jwtVerify(secret, pair.publicKey, {
    audience: 'https://appleid.apple.com',
  })
  t.match(protectedHeader, { alg: 'ES256', kid: 'KEY' })
  t.match(payload, { iss: 'TEAM', sub: 'com.example.svc', iat: Math.floor(now / 1000), exp: Number })
  t.ok(Number(payload.exp) - Number(payload.iat) <= 15_777_000, 'Apple accepts half a year at most')
})
