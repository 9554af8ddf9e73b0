import { decodeJwt } from 'jose'
import type { Settings } from '../../support/app.ts'
import { day, minute } from '../../support/clock.ts'
import { runCommandOn } from '../../support/command.ts'
import { basic, clients, codeFlow, Person, post } from '../../support/oauth.ts'
import {
  after,
  answered,
  apiAudience,
  asUser,
  asUserText,
  claim,
  forgetting,
  forwardedStatus,
  header,
  logged,
  machine,
  mailCount,
  mailed,
  type Observation,
  offersBinding,
  options,
  page,
  pendingEmail,
  registered,
  registering,
  remoteUser,
  signedIn,
  startDevice,
  status,
  tasksByPersonalToken,
  tries,
  words,
} from './observations.ts'
import type { Reloading } from './reloading-app.ts'

/** A key, another value for it, the observation, and its results before and after the change. */
export type Row = readonly [key: string, value: unknown, look: Observation, before: unknown, after: unknown]

/** The answer to a request of a user with a role. */
const asRole = (role: string, act: Parameters<typeof asUser>[0]): Observation =>
  asUser(async (browser, svc) => {
    await svc.database.prisma.user.updateMany({ data: { role } })
    return act(browser, svc)
  })

/** Calls the admin API as an administrator. */
const asChief = async (svc: Reloading) => {
  const { browser } = await signedIn(svc)
  await svc.database.prisma.user.updateMany({ data: { role: 'chief' } })
  return browser.get('/admin/v1/keys')
}

const crm = { audience: 'https://crm.example', push: { url: 'https://crm.example/signals' } }
const fromApp = { origin: 'https://app.example.com' }
const cors = (header: string, origin = fromApp.origin) =>
  words(new RegExp(`"${header}":"?([^",]+)`), answered('/svc/csrf-cookie', 'headers', { origin }))
const wrong = { ...basic('machine', 'wrong'), 'content-type': 'application/x-www-form-urlencoded' }
const grant = 'grant_type=client_credentials'
const resetMail = mailed(async (svc) => forgetting(svc, (await svc.createUser()).email))
const inviteMail = mailed((svc) => runCommandOn(svc, 'user:invite', '--email=invited@example.com'))
const verifyMail = mailed((svc) => registering(svc))
const named = ({ url }: { url: string }, social: Settings) => ({ acme: { issuer: url, client_id: 'a', ...social } })

export const rows: readonly Row[] = [
  ['app.name', 'Acme', words(/<title>.* · (.*)<\/title>/, page('/')), 'svc', 'Acme'],
  ['app.frontend_url', 'http://localhost:3000', answered('/', 'statusCode'), 200, 404],
  ['stateful', ['other.example'], asUser((browser) => browser.get('/api/user')), 200, 401],
  ['stateful_api', false, asUser((browser) => browser.get('/api/user')), 200, 401],
  [
    'apis',
    { orders: { audience: 'https://new.example.com', scopes: ['orders:ship'] } },
    apiAudience,
    'https://orders.example.com',
    'https://new.example.com',
  ],
  ['guard.default', 'deny', forwardedStatus, 200, 403],
  ['guard.rules', [{ hosts: ['api.example.com'], roles: ['staff'] }], forwardedStatus, 200, 403],
  ['guard.remote_user', 'email', remoteUser, 'id', 'email'],
  ['guard.step_up', [{ ability: 'view-tasks', acr: '2' }], tasksByPersonalToken, 200, 401],
  [
    'expiration',
    '1m',
    async (svc) => {
      const token = await svc.createToken(await svc.createUser())
      svc.clock.advance(2 * minute)
      return (await svc.bearer(token, 'GET', '/api/user')).statusCode
    },
    200,
    401,
  ],
  ...[
    ['tokens.prefix', 'acme_', /"token":"\d+\|(acme_|)/, '', 'acme_'],
    ['tokens.default_abilities', ['look'], /"abilities":\["(.*?)"\]/, '*', 'look'],
  ].map(([key, value, pattern, ...seen]): Row => {
    const look: Observation = async (svc) => {
      const { email } = await svc.createUser()
      const payload = { email, password: 'correct horse', device_name: 'Phone' }
      const { body } = await svc.app.inject({ method: 'POST', url: '/svc/token', payload })
      return body + (await svc.bearer(JSON.parse(body).token, 'GET', '/api/tokens')).body
    }
    return [String(key), value, words(pattern as RegExp, look), seen[0], seen[1]]
  }),
  ['tokens.confirm_password', true, asUser((browser) => browser.post('/tokens/create', { token_name: 'x' })), 200, 423],
  ['session.lifetime', '5m', words(/Max-Age=(\d+)/, answered('/svc/csrf-cookie', 'headers')), '7200', '300'],
  ['session.confirmed_by_sign_in', '5m', asUser((browser) => browser.delete('/user')), 423, 200],
  ['session.absolute_lifetime', '1m', after(5 * minute), 200, 401],
  ['session.bound', 'when_available', offersBinding, false, true],
  [
    'session.remember_lifetime',
    '1d',
    words(/svc_remember=.*?Max-Age=(\d+)/, async (svc) => (await signedIn(svc, { remember: true })).cookies),
    String((400 * day) / 1000),
    String(day / 1000),
  ],
  [
    'session.login_failure_status',
    422,
    async (svc) => (await svc.browser().signIn('unknown@example.com', 'wrong')).statusCode,
    401,
    422,
  ],
  ['cors.origins', [fromApp.origin], cors('access-control-allow-origin'), null, fromApp.origin],
  ['cors.supports_credentials', false, cors('access-control-allow-credentials', 'http://localhost:5173'), 'true', null],
  ['registration.enabled', false, registered(), 201, 404],
  [
    'registration.role',
    'guest',
    async (svc) => (await (await registering(svc)).browser.get('/api/user')).json().role,
    'user',
    'guest',
  ],
  ['registration.allowed_domains', ['example.org'], registered(), 201, 422],
  ['registration.email_change', 'immediate', pendingEmail, true, false],
  [
    'registration.require_verified_email',
    true,
    asUser((browser) => browser.get('/user/sessions'), { verified: false }),
    200,
    403,
  ],
  ['passwords.min_length', 30, registered(), 201, 422],
  ['passwords.max_length', 64, registered({ password: `${'many letters '.repeat(6)}` }), 201, 422],
  ['passwords.block_common', false, registered({ password: 'password1' }), 422, 201],
  [
    'passwords.confirm_timeout',
    '1m',
    asUser(async (browser, svc) => {
      await browser.post('/user/confirm-password', { password: 'correct horse' })
      svc.clock.advance(5 * minute)
      return browser.delete('/user')
    }),
    200,
    423,
  ],
  ['passwords.reset_expires', '5m', words(/(\d+) minutes/, resetMail), '60', '5'],
  [
    'passwords.reset_throttle',
    '0s',
    async (svc) => {
      const { email } = await svc.createUser()
      for (let n = 0; n < 2; n++) {
        await forgetting(svc, email)
        await svc.mailbox.all()
      }
      return (await svc.mailbox.to(email)).length
    },
    1,
    2,
  ],
  [
    'passwords.reveal_unknown_email',
    true,
    async (svc) => (await forgetting(svc, 'unknown@example.com')).statusCode,
    200,
    422,
  ],
  ['two_factor.enabled', false, asUser((browser) => browser.get('/user/two-factor-recovery-codes')), 423, 404],
  [
    'two_factor.confirm_password',
    false,
    asUser((browser) => browser.post('/user/two-factor-authentication')),
    423,
    200,
  ],
  ['invitations.ttl', '2d', words(/(\d+) days/, inviteMail), '7', '2'],
  ['login.email_code', true, answered('/oauth/email-code', 'statusCode'), 404, 200],
  [
    'mobile_apps.ios',
    ['ABCDE12345.com.example.app'],
    answered('/.well-known/apple-app-site-association', 'statusCode'),
    404,
    200,
  ],
  [
    'mobile_apps.android',
    [{ package: 'com.example.app', sha256_cert_fingerprints: [Array(32).fill('AB').join(':')] }],
    answered('/.well-known/assetlinks.json', 'statusCode'),
    404,
    200,
  ],
  ['passkeys.enabled', false, answered('/passkeys/login/options', 'statusCode'), 200, 404],
  ['passkeys.user_verification', 'preferred', options('userVerification'), 'required', 'preferred'],
  ['passkeys.confirm_password', false, asUser((browser) => browser.get('/user/passkeys/options')), 423, 200],
  [
    'mail.from',
    'Acme <acme@example.com>',
    words(/"from":"(.*?)"/, resetMail),
    'no-reply@localhost',
    'acme@example.com',
  ],
  ['links.verify', '/verify-email/{id}/{hash}', words(/(verify-email)/, verifyMail), null, 'verify-email'],
  [
    'links.reset',
    'https://app.example.com/{token}',
    words(/(https:..app.example.com)/, resetMail),
    null,
    fromApp.origin,
  ],
  ['links.login', '/sign-in', answered('/oauth/login', 'statusCode'), 200, 302],
  ['links.register', '/join', answered('/oauth/register', 'statusCode'), 200, 302],
  ['links.account', '/me', answered('/account', 'statusCode'), 401, 302],
  ['account.sections', [], answered('/.well-known/change-password', 'statusCode'), 302, 404],
  ['links.help', '/help-page', words(/(help-page)/, page('/')), null, 'help-page'],
  ['links.privacy', '/privacy-page', words(/(privacy-page)/, page('/')), null, 'privacy-page'],
  ['links.terms', '/terms-page', words(/(terms-page)/, page('/')), null, 'terms-page'],
  ['templates.pages', '{templates}', words(/(Our own page)/, page('/')), null, 'Our own page'],
  ['templates.mail', '{templates}', words(/(Our own mail)/, verifyMail), null, 'Our own mail'],
  ['mail.url', 'file:{templates}', mailCount, 1, 0],
  ['theme.logo', '/logo.svg', words(/(logo\.svg)/, page('/')), null, 'logo.svg'],
  ['theme.colors', { accent: '#123456' }, words(/(#123456)/, page('/')), null, '#123456'],
  ['i18n.default', 'de', words(/<html lang="(\w+)"/, page('/')), 'en', 'de'],
  ['i18n.languages', ['en'], words(/(value="fr")/, page('/')), 'value="fr"', null],
  ['i18n.messages', { en: { 'home.login': 'Come in' } }, words(/(Come in)/, page('/')), null, 'Come in'],
  [
    'i18n.api',
    true,
    words(/"content-language":"(\w+)"/, answered('/api/user', 'headers', { 'accept-language': 'de' })),
    null,
    'de',
  ],
  ['i18n.directory', '{templates}', words(/(Step in)/, page('/')), null, 'Step in'],
  ['theme.texts', { 'home.login': 'Come in' }, words(/(Come in)/, page('/')), null, 'Come in'],
  [
    'scopes',
    { 'orders:read': 'Other words', 'orders:write': 'W' },
    asUserText('/oauth/scopes', /(Other words)/),
    null,
    'Other words',
  ],
  ['clients', clients.filter(({ client_id }) => client_id !== 'machine'), status(machine), 200, 401],
  ['oauth.access_token_ttl', '5m', async (svc) => (await machine(svc)).json().expires_in, 900, 300],
  ['oauth.access_token_alg', 'RS256', claim(0, 'alg'), 'ES256', 'RS256'],
  [
    'oauth.access_token_claims',
    ['role'],
    async (svc) => {
      const { email } = await svc.createUser()
      return decodeJwt((await codeFlow(svc, new Person(svc, email), 'web')).access_token).role
    },
    undefined,
    'user',
  ],
  ['oauth.audience', 'https://api.example', claim(1, 'aud'), 'http://localhost:8000', 'https://api.example'],
  [
    'oauth.device_code_ttl',
    '5m',
    async (svc) => (await post(svc, '/oauth/device/code', 'tv', {})).json().expires_in,
    600,
    300,
  ],
  [
    'oauth.key_rotation',
    '20m',
    words(/max-age=(\d+)/, answered('/.well-known/jwks.json', 'headers')),
    '600',
    String(5 * 60 - 10),
  ],
  [
    'oauth.id_token_claims',
    false,
    async (svc) => {
      const person = new Person(svc, (await svc.createUser()).email)
      return 'email' in decodeJwt((await codeFlow(svc, person, 'web', { scope: 'openid email' })).id_token ?? '')
    },
    true,
    false,
  ],
  [
    'oauth.personal_access_token_ttl',
    '1d',
    async (svc) => {
      const { browser } = await signedIn(svc)
      const { token } = (await browser.post('/oauth/personal-access-tokens', { name: 'x', scopes: [] })).json()
      return (Date.parse(token.expires_at) - Date.parse(token.created_at)) / day
    },
    90,
    1,
  ],
  [
    'social',
    named({ url: 'https://acme.example' }, { client_secret: 'x', label: 'Acme' }),
    words(/"label":"(Acme)"/, answered('/auth/providers', 'body')),
    null,
    'Acme',
  ],
  ['rate_limits.login', '1/1h', tries((svc) => svc.browser().signIn('x@example.com', 'wrong')), 'unlimited', 1],
  [
    'rate_limits.login_address',
    '1/1h',
    tries((svc) => svc.browser().signIn(`${Math.random()}@example.com`, 'wrong')),
    'unlimited',
    1,
  ],
  ['rate_limits.register', '9/1m', header(async (svc) => (await registering(svc)).answer), undefined, '9'],
  ['rate_limits.mail', '9/1m', header((svc) => forgetting(svc, 'x@example.com')), undefined, '9'],
  [
    'rate_limits.token',
    '1/1h',
    tries(({ app }) => app.inject({ method: 'POST', url: '/oauth/token', headers: wrong, payload: grant })),
    'unlimited',
    1,
  ],
  ['rate_limits.authorization', '1/1h', tries((svc) => startDevice(svc, '192.0.2.7')), 'unlimited', 1],
  ['rate_limits.authorization_total', '1/1h', tries((svc) => startDevice(svc, '192.0.2.8')), 'unlimited', 1],
  ['rate_limits.global', '1000/1m', header(({ app }) => app.inject('/health/live')), undefined, '1000'],
  ['rate_limits.admin', '9/1m', header(asChief), '600', '9'],
  ['admin.roles', ['boss'], asRole('boss', (browser) => browser.get('/admin/v1/keys')), 403, 200],
  ['shared_signals.streams', { crm }, answered('/.well-known/ssf-configuration', 'statusCode'), 404, 200],
  // The session has no second factor.
  ['admin.pages', true, asRole('chief', (browser) => browser.get('/admin')), 404, 403],
  ['log.requests', 'none', logged(/"msg":"request"/), true, false],
  ['log.probes', true, logged(/"msg":"request"/, '/health/live'), false, true],
  ['guard.diagnose', false, logged(/authentication failed/), true, false],
]
