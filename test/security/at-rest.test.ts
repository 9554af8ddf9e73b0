import t from 'tap'
import { RecordSeal } from '../../src/features/oauth/records/record-seal.ts'
import { buildSocial, frontEnd, Visitor as SocialVisitor } from '../features/social/visitor.ts'
import { mailedLink, registration, visitor } from '../support/accounts.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { Authenticator } from '../support/authenticator.ts'
import type { Browser } from '../support/browser.ts'
import { hour } from '../support/clock.ts'
import { dumpDatabase, dumpRedis, formsOf } from '../support/dump.ts'
import {
  callback,
  codeFlow,
  hiddenFields,
  oauthSettings,
  Person,
  post,
  refresh,
  request,
  response,
  secret,
} from '../support/oauth.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { stopTime } from '../support/time.ts'
import { challenged, confirmedBrowser, enableTwoFactor } from '../support/totp.ts'

type Keep = (name: string, text: string | null | undefined) => void

const cookieParts = ['svc_session', 'XSRF-TOKEN', 'svc_browser', 'svc_remember']

/** The secrets in a browser's cookies, on every path. */
async function keepCookies(keep: Keep, browser: Browser): Promise<void> {
  const { cookies } = (await browser.jar.serialize()) ?? { cookies: [] }
  for (const { key, value } of cookies) {
    // A signed value, or a remember token that begins with the id of its row.
    const parts = decodeURIComponent(value ?? '')
      .split('.')
      .sort((a, b) => b.length - a.length)
      .slice(0, 2)
    for (const part of parts.filter((text) => text.length >= 16)) keep(`cookie ${key}`, part)
  }
}

/** OAuth: every credential that a client, a device or a browser gets. */
async function oauthSecrets(svc: TestApp, keep: Keep): Promise<void> {
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  const asked = request('web', {
    scope: 'openid orders:read',
    nonce: 'the-nonce-of-the-client',
    state: 'its-own-state',
  })
  const tokens = await codeFlow(svc, person, 'web', { scope: 'openid orders:read' })
  keep('access token', tokens.access_token.split('.')[2])
  keep('ID token', tokens.id_token?.split('.')[2])
  keep('refresh token', tokens.refresh_token)
  keep('authorization code', response(await person.allow(asked)).code)
  const pushed = (await post(svc, '/oauth/par', 'web', { ...asked, redirect_uri: callback })).json()
  keep('request URI', pushed.request_uri.split(':').at(-1))
  await new Person(svc, email).authorize({ client_id: 'web', request_uri: pushed.request_uri })
  keep("the client's nonce", asked.nonce)
  keep("the client's state", asked.state)

  // One device waits for its code, one for consent, and one is connected.
  for (const stage of ['begun', 'asked', 'done']) {
    const device = (await post(svc, '/oauth/device/code', 'tv', { scope: 'orders:read' })).json()
    keep(`device code, ${stage}`, device.device_code)
    keep(`user code, ${stage}`, device.user_code)
    keep(`user code without its dash, ${stage}`, device.user_code.replace('-', ''))
    if (stage === 'begun') continue
    const confirm = await person.press(await person.go('/oauth/device'), { user_code: device.user_code })
    keep('form secret', hiddenFields(confirm.answer.body).xsrf)
    const consent = await person.press(confirm, { confirm: 'yes' })
    if (stage === 'done') await person.decide(consent)
  }
  const spa = svc.browser()
  await spa.signIn(email)
  const made = await spa.post('/oauth/personal-access-tokens', { name: 'CI', scopes: ['orders:read'] })
  keep('personal access token', made.json().accessToken.split('.')[2])
  await keepCookies(keep, person.plain.browser)
}

/** Accounts: passwords, second factors, passkeys, API tokens, mailed links. */
async function accountSecrets(svc: TestApp, keep: Keep): Promise<void> {
  const user = await svc.createUser()
  keep('password', 'correct horse')
  keep('API token', (await svc.createToken(user)).split('|')[1])
  const remembered = svc.browser()
  await remembered.signIn(user.email, undefined, { remember: true })

  const ada = await enableTwoFactor(svc)
  keep('TOTP secret', ada.secret)
  for (const code of ada.recoveryCodes) keep('recovery code', code)
  const waiting = await challenged(svc, ada.email)

  const confirmed = await confirmedBrowser(svc, user.email)
  const register = (await confirmed.get('/user/passkeys/options')).json().options
  keep('challenge of a new passkey', register.challenge)
  const answer = { name: 'Phone', credential: new Authenticator().register(register) }
  t.equal((await confirmed.post('/user/passkeys', answer)).statusCode, 200)
  const spare = (await confirmed.get('/user/passkeys/options')).json().options
  keep('challenge that waits', spare.challenge)
  const login = (await waiting.get('/passkeys/login/options')).json().options
  keep('challenge of a sign-in', login.challenge)

  const visiting = await visitor(svc)
  const email = 'grace@example.org'
  t.equal((await visiting.post('/register', registration(email))).statusCode, 201)
  const link = new URL(await mailedLink(svc, email), 'http://localhost:8000')
  keep('signature of the verification link', link.searchParams.get('signature'))
  const guest = await visitor(svc)
  t.equal((await guest.post('/forgot-password', { email })).statusCode, 200)
  const token = await svc.mailbox.find(email, /\/reset-password\/(\w+)/)
  keep('reset token', token)
  for (const browser of [remembered, ada.browser, waiting, confirmed, visiting, guest]) await keepCookies(keep, browser)
  const names = (await remembered.jar.serialize())?.cookies.map(({ key }) => key) ?? []
  for (const name of cookieParts) t.ok(names.includes(name), `${name} is among the cookies`)
}

/** Social sign-in: the flow's values, and the provider's tokens. */
async function socialSecrets(svc: Awaited<ReturnType<typeof buildSocial>>, keep: Keep): Promise<void> {
  const waiting = new SocialVisitor(svc)
  const there = await waiting.begin()
  for (const name of ['state', 'nonce', 'code_challenge']) keep(`social ${name}`, there.searchParams.get(name))
  await keepCookies(keep, waiting.browser)
  t.equal((await new SocialVisitor(svc).signIn('wayland', 'github')).headers.location, `${frontEnd}/`)
  const [call] = svc.forge.callsTo('/user')
  keep("the provider's access token", call?.headers.authorization?.split(' ')[1])
  const [exchange] = svc.forge.callsTo('/login/oauth/access_token')
  keep("the provider's code", exchange?.form.get('code'))
  keep('the code verifier', exchange?.form.get('code_verifier'))
  t.equal(await svc.database.prisma.socialAccount.count({ where: { tokens: { not: null } } }), 1, 'tokens are stored')
}

for (const store of ['the database', 'the database and Redis']) {
  t.test(`${store} contain no secret that svc issued or received`, async (t) => {
    const isWithRedis = store.includes('Redis')
    if (isWithRedis && !hasRedis(t)) return
    const redis = isWithRedis ? await startRedis(t) : null
    const more = { two_factor: { confirm_password: true }, registration: { require_verified_email: false } }
    const settings = { ...oauthSettings, ...more, ...(redis ? { redis: { url: redis.url } } : {}) }
    const svc = await buildSocial(t, { settings, github: { store_tokens: true } })
    const secrets = new Map<string, string>()
    const keep: Keep = (name, text) => {
      if (!text || text.length < 8) t.fail(`${name} is no secret: ${text}`)
      secrets.set(`${name} (${secrets.size})`, text ?? '')
    }
    keep('client secret', secret)
    keep('secret of the provider', 'the-secret-of-svc-at-acme')
    keep('app.secret', svc.config.current().app.secret[0])
    await oauthSecrets(svc, keep)
    await accountSecrets(svc, keep)
    await socialSecrets(svc, keep)
    keep('signing key', (await svc.app.oauth.signingKey()).d)
    t.ok(secrets.size > 60, `${secrets.size} secrets`)

    const dump = (await dumpDatabase(svc)) + (redis ? await dumpRedis(redis.url) : '')
    t.ok(dump.includes('grace@example.org'), 'the dump contains what svc stores')
    for (const [name, text] of secrets) {
      const found = formsOf(text).filter((form) => dump.includes(form))
      t.same(found, [], name)
    }
  })
}

t.test('finds a stored secret in any encoding in a dump', async (t) => {
  const token = 'k7-Zq_secret+of/a.test~'
  const around = (text: string) => `{"a":"é","b":"${text}","c":1}`
  for (const encode of [
    (text: string) => text,
    encodeURIComponent,
    ...(['hex', 'base64', 'base64url'] as const).map((name) => (text: string) => Buffer.from(text).toString(name)),
  ]) {
    for (const text of [token, around(token), `x${around(token)}`, `xy${around(token)}`]) {
      const stored = encode(text)
      t.ok(
        formsOf(token).some((form) => stored.includes(form)),
        stored,
      )
    }
  }
})

t.test('re-encrypts records with a new secret after an hour, so that the old one can be removed', async (t) => {
  const clock = stopTime(t)
  const svc = await buildTestApp(t, { settings: oauthSettings, clock })
  const { email } = await svc.createUser()
  const tokens = await codeFlow(svc, new Person(svc, email), 'web', { scope: 'openid orders:read' })
  const [old = ''] = svc.config.current().app.secret
  const env = { SVC_SECRET: `the-next-secret-is-32-bytes-long-too,${old}` }
  const both = await buildTestApp(t, { settings: oauthSettings, clock, database: svc.where, env })
  const { prisma } = svc.database
  const records = () => prisma.oauthRecord.findMany({ where: { payload: { not: '{}' } }, orderBy: { id: 'asc' } })
  const before = await records()
  await both.app.oauth.resealRecords()
  t.same(await records(), before, 'the change of the secret can be undone')
  clock.advance(hour)
  await both.app.oauth.resealRecords()
  const next = new RecordSeal(['the-next-secret-is-32-bytes-long-too'])
  for (const record of await records()) t.ok(next.open(record), record.kind)
  t.equal((await refresh(both, 'web', tokens.refresh_token)).statusCode, 200)
  t.equal((await refresh(svc, 'web', tokens.refresh_token)).statusCode, 400, 'only the new secret decrypts them')
})
