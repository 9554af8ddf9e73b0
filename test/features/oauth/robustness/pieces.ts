import { createHash } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import type { Settings, TestApp } from '../../../support/app.ts'
import type { Browser } from '../../../support/browser.ts'

const secret = 'a-secret-that-is-long-enough'
const redirect = 'http://localhost:9999/cb'
const code = () => ({
  redirect_uris: [redirect],
  grants: ['authorization_code', 'refresh_token'],
  scopes: ['orders:read'],
})

/** Clients of every kind. */
export const settings: Settings = {
  app: { url: 'https://id.example.com', frontend_url: 'https://id.example.com' },
  scopes: { 'orders:read': 'Read orders' },
  rate_limits: { login: null, token: null, authorization: null, authorization_total: null },
  clients: [
    { client_id: 'web', type: 'confidential', secret, ...code(), first_party: true },
    {
      client_id: 'third',
      type: 'confidential',
      secret,
      ...code(),
      post_logout_redirect_uris: ['http://localhost:9999/'],
    },
    { client_id: 'spa', type: 'public', ...code(), cors_origins: ['http://localhost:5173'] },
    { client_id: 'tv', type: 'public', grants: ['device_code', 'refresh_token'], scopes: ['orders:read'] },
    {
      client_id: 'cron',
      type: 'confidential',
      secret,
      grants: ['client_credentials'],
      scopes: ['orders:read'],
      introspect: true,
    },
    { client_id: 'app', type: 'confidential', secret, grants: ['password', 'refresh_token'], scopes: ['orders:read'] },
    { client_id: 'bound', type: 'confidential', secret, ...code(), require_par: true, dpop: true },
  ],
}

const verifier = 'v'.repeat(43)
const challenge = createHash('sha256').update(verifier).digest('base64url')

/** Valid values by the name of their parameter, and valid headers. */
export interface Pieces {
  values: Readonly<Record<string, readonly string[]>>
  cookies: readonly string[]
  authorizations: readonly string[]
  /** Pending authorizations: the uid, and by path what their browser sends there. */
  walks: readonly { uid: string; cookies: Readonly<Record<string, string>> }[]
}

const basic = (id: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
const site = 'https://id.example.com'

/** The parameters of an authorization. */
export const authorizationQuery = (client: string, more: Record<string, string> = {}): string =>
  new URLSearchParams({
    client_id: client,
    response_type: 'code',
    redirect_uri: redirect,
    scope: 'openid email offline_access orders:read',
    state: 'state',
    nonce: 'nonce',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  }).toString()

/** A signed-in browser, and one at the consent page. */
export async function signedIn(svc: TestApp): Promise<Browser> {
  const browser = svc.browser({ origin: site, url: site })
  const answer = await browser.signIn((await svc.createUser()).email)
  if (answer.statusCode !== 200)
    throw new Error(svc.logs.filter((line) => /"level":"(warn|error|fatal)"/.test(line)).at(-1) ?? answer.body)
  return browser
}

const leads = (answer: LightMyRequestResponse): string => String(answer.headers.location ?? '')

/** An authorization at the consent page. */
async function walkOf({ jar }: Browser, question: string): Promise<Pieces['walks'][number]> {
  const uid = question.split('/').at(-1) ?? 'x'
  const at = ['interaction', 'authorize', 'device'].map((name) => `/oauth/${name}/`)
  const cookies = await Promise.all(
    at.map(async (path) => [`${path}:uid`, await jar.getCookieString(site + path + uid)]),
  )
  return { uid, cookies: Object.fromEntries(cookies) }
}

/** A fresh value for everything that an OAuth request may name. */
export async function gather(svc: TestApp, browser: Browser): Promise<Pieces> {
  const { app, database } = svc
  const post = async (url: string, fields: Record<string, string>) =>
    (await app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: fields })).json()
  const codeOf = async (client: string) =>
    new URL(leads(await browser.get(`/oauth/authorize?${authorizationQuery(client)}`)), site).searchParams.get(
      'code',
    ) ?? ''
  const own = { client_id: 'web', client_secret: secret }
  const codes = [await codeOf('web'), await codeOf('web')]
  const spent = await codeOf('web')
  const exchange = { grant_type: 'authorization_code', redirect_uri: redirect, code_verifier: verifier, ...own }
  const tokens = await post('/oauth/token', { ...exchange, code: spent })
  const machine = await post('/oauth/token', {
    grant_type: 'client_credentials',
    client_id: 'cron',
    client_secret: secret,
  })
  const devices = await Promise.all([0, 1].map(() => post('/oauth/device/code', { client_id: 'tv', scope: 'openid' })))
  const pushed = await post('/oauth/par', {
    ...Object.fromEntries(new URLSearchParams(authorizationQuery('web'))),
    client_secret: secret,
  })
  // Validly signed cookies without rows.
  const visitor = svc.browser({ origin: site, url: site })
  const left = leads(await visitor.get(`/oauth/authorize?${authorizationQuery('third')}`))
  await visitor.get('/oauth/device')
  const gone = await walkOf(visitor, left)
  await database.prisma.oauthRecord.deleteMany({ where: { kind: { in: ['Session', 'Interaction'] }, userId: null } })
  const stopped = leads(await browser.get(`/oauth/authorize?${authorizationQuery('third')}`))
  const decided = leads(await browser.get(`/oauth/authorize?${authorizationQuery('third')}`))
  await browser.post(decided, { decision: 'deny' }, { 'sec-fetch-site': 'same-origin' })
  const live = svc.browser({ origin: site, url: site })
  const page = await live.get('/oauth/device', { accept: 'text/html' })
  const question = await browser.get('/oauth/logout', { accept: 'text/html' })
  const walks = [await walkOf(browser, stopped), await walkOf(browser, decided), gone]
  const cookies = [await browser.jar.getCookieString(site), await live.jar.getCookieString(site)]
  return {
    values: {
      client_id: ['web', 'third', 'spa', 'tv', 'cron', 'app', 'bound', 'svc-personal', 'svc-first-party'],
      client_secret: [secret],
      grant_type: [
        'authorization_code',
        'refresh_token',
        'client_credentials',
        'password',
        'urn:ietf:params:oauth:grant-type:device_code',
        'urn:ietf:params:oauth:grant-type:token-exchange',
      ],
      code: [...codes, spent],
      code_verifier: [verifier],
      code_challenge: [challenge],
      code_challenge_method: ['S256', 'plain'],
      redirect_uri: [redirect, 'http://localhost:9998/cb', 'javascript:alert(1)', 'http://['],
      refresh_token: [tokens.refresh_token],
      token: [tokens.access_token, tokens.refresh_token, machine.access_token, '7|secret'],
      subject_token: [tokens.access_token],
      subject_token_type: ['urn:ietf:params:oauth:token-type:access_token'],
      token_type_hint: ['access_token', 'refresh_token'],
      access_token: [tokens.access_token],
      device_code: devices.map((device) => device.device_code),
      user_code: devices.map((device) => device.user_code),
      request_uri: [pushed.request_uri, 'urn:ietf:params:oauth:request_uri:x', 'https://example.com/x'],
      request: ['e30.e30.', tokens.id_token],
      id_token_hint: [tokens.id_token, tokens.access_token],
      post_logout_redirect_uri: ['http://localhost:9999/', 'http://localhost:9998/'],
      logout: ['yes'],
      confirm: ['yes'],
      abort: ['yes'],
      xsrf: [page, question].map(({ body }) => /name="xsrf" value="([^"]+)"/.exec(body)?.[1] ?? 'none'),
      decision: ['approve', 'deny'],
      response_type: ['code', 'token', 'code id_token', 'none'],
      response_mode: ['form_post', 'query', 'fragment', 'web_message', 'jwt'],
      scope: ['openid', 'openid email', 'orders:read', 'orders:write', 'openid offline_access'],
      prompt: ['none', 'login', 'consent', 'select_account', 'none login', 'create'],
      max_age: ['0', '1', '99999999999'],
      claims: [
        '{"userinfo":{"email":null}}',
        '{"id_token":{"sub":{"value":"1"}}}',
        '{"userinfo":{"__proto__":{}}}',
        '[]',
        '{',
      ],
      resource: ['http://localhost:8000', 'urn:x', 'x'],
      login_hint: ['a@b.c'],
      acr_values: ['1'],
      dpop_jkt: ['x'.repeat(43)],
      username: ['user1@example.com'],
      password: ['wrong'],
      otp: ['123456'],
      client_assertion: [machine.access_token, 'a.b.c'],
      client_assertion_type: ['urn:ietf:params:oauth:client-assertion-type:jwt-bearer'],
      state: ['state'],
      nonce: ['nonce'],
      ui_locales: ['de'],
    },
    cookies: [...cookies, ...walks.flatMap((walk) => Object.values(walk.cookies))],
    authorizations: [
      ...['web', 'third', 'cron', 'app', 'tv'].map(basic),
      `Bearer ${tokens.access_token}`,
      `Bearer ${machine.access_token}`,
      `DPoP ${tokens.access_token}`,
    ],
    walks,
  }
}
