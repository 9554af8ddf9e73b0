import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import type { Test } from 'tap'
import { features } from '../../src/app.ts'
import { csrfMismatch, emailUnverified, notFound, validationFailed } from '../../src/errors.ts'
import assets from '../../src/features/assets/routes.ts'
import errorReference from '../../src/features/error-reference/routes.ts'
import { tooManyRequests } from '../../src/limits/too-many-requests.ts'
import type { PageData } from '../../src/pages/page-data.ts'
import { addPages } from '../../src/pages/pages.ts'
import { type Settings, testConfig } from './app.ts'
import { passkeyPart, passkeyStepUp, presetButtons, providersPart } from './gallery-parts.ts'

const login: PageData['login'] = {
  action: '/oauth/login',
  returnTo: null,
  email: '',
  remember: false,
  errors: {},
  notice: null,
  forgotHref: '/forgot',
  registerHref: '/register',
  parts: [],
}
const register: PageData['register'] = {
  action: '/oauth/register',
  returnTo: null,
  name: '',
  email: '',
  remember: false,
  errors: {},
  minLength: 8,
  loginHref: '/oauth/login',
}
const challenge: PageData['challenge'] = {
  action: '/oauth/login/challenge',
  returnTo: '/email/verify/1/abc',
  errors: {},
  loginHref: '/oauth/login',
}
const wrongCode = { code: ['The provided two factor authentication code was invalid.'] }
const stepUp: PageData['step-up'] = {
  action: '/oauth/interaction/abc',
  lead: 'challenge.lead',
  code: true,
  parts: [passkeyStepUp.part],
  errors: {},
  switchHref: '/x',
}
const forgot: PageData['forgot-password'] = {
  action: '/forgot-password',
  email: '',
  errors: {},
  sent: null,
  loginHref: '/oauth/login',
}
const reset: PageData['reset-password'] = {
  action: '/reset-password',
  token: 'token',
  email: 'ada@example.com',
  errors: {},
  minLength: 8,
}
const home: PageData['home'] = {
  user: null,
  justVerified: false,
  loginHref: '/oauth/login',
  signOutAction: '/oauth/sign-out',
  verifyHref: '/oauth/verify-email',
}
const ada = { name: 'Ada Lovelace', email: 'ada@example.com', verified: true }
const consent: PageData['consent'] = {
  action: '/oauth/interaction/abc',
  client: 'Example Orders',
  host: 'orders.example.com',
  user: ada,
  scopes: [
    { name: 'orders:read', description: 'Read your orders' },
    { name: 'server:update', description: 'Change your servers' },
    { name: 'offline_access', description: '' },
  ],
  switchHref: '/oauth/login?return_to=/oauth/interaction/abc',
}
const device: PageData['device'] = { action: '/oauth/device', secret: 'secret', userCode: '', error: null }
const deviceConfirm: PageData['device-confirm'] = {
  action: '/oauth/device',
  secret: 'secret',
  userCode: 'WDJB-MJHT',
  client: 'Example TV',
  ipAddress: '2001:db8::8a2e:370:7334',
  userAgent:
    'Mozilla/5.0 (Linux; Android 14; BRAVIA 4K VH2) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36',
}
const verifyEmail: PageData['verify-email'] = {
  action: '/oauth/verify-email',
  email: 'ada@example.com',
  sent: false,
  homeHref: '/',
}
const logout: PageData['logout'] = {
  action: '/oauth/logout/confirm',
  secret: 'secret',
  client: 'Example Orders',
  user: 'ada@example.com',
}

/** Markup that pages must escape, and a long word without a place to break. */
export const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'\`{{7*7}}<%= 7*7 %></style>`
const long = 'x'.repeat(120)
const texts = Array.from({ length: 4 }, (_, index) => `The password field breaks rule ${index}, ${long}.`)
const hostileErrors = { email: [hostile], password: texts, code: [hostile], recovery_code: texts }

/** Each page in each of its states. */
const states: Readonly<Record<string, (reply: FastifyReply) => FastifyReply>> = {
  login: (reply) => reply.page('login', login),
  'login-full': (reply) =>
    reply.page('login', {
      ...login,
      returnTo: '/x',
      notice: 'login.after_reset',
      parts: [providersPart(presetButtons), passkeyPart],
    }),
  'login-passkey': (reply) => reply.page('login', { ...login, parts: [passkeyPart] }),
  'login-failed': (reply) =>
    reply.page('login', {
      ...login,
      email: 'ada@example.com',
      remember: true,
      errors: { email: ['These credentials do not match our records.'] },
    }),
  'login-hostile': (reply) =>
    reply.page('login', {
      action: hostile,
      returnTo: hostile,
      email: hostile,
      remember: true,
      errors: hostileErrors,
      notice: 'login.after_reset',
      forgotHref: hostile,
      registerHref: hostile,
      parts: [
        providersPart([
          { href: hostile, label: hostile + long, mark: { viewBox: hostile, path: hostile }, letter: hostile },
          { href: hostile, label: hostile, mark: null, letter: hostile },
        ]),
        passkeyPart,
      ],
    }),
  register: (reply) => reply.page('register', register),
  'register-failed': (reply) =>
    reply.page('register', {
      ...register,
      returnTo: '/x',
      name: 'Ada Lovelace',
      email: 'ada@example.com',
      remember: true,
      errors: { email: ['The email has already been taken.'] },
    }),
  'register-hostile': (reply) =>
    reply.page('register', {
      ...register,
      action: hostile,
      returnTo: hostile,
      name: hostile + long,
      email: hostile + long,
      errors: hostileErrors,
      loginHref: hostile,
    }),
  challenge: (reply) => reply.page('challenge', challenge),
  'challenge-failed': (reply) => reply.page('challenge', { ...challenge, errors: wrongCode }),
  'challenge-recovery': (reply) =>
    reply.page('challenge', {
      ...challenge,
      errors: { recovery_code: ['The provided two factor recovery code was invalid.'] },
    }),
  'step-up': (reply) => reply.page('step-up', stepUp),
  'step-up-passkey': (reply) => reply.page('step-up', { ...stepUp, code: false, lead: passkeyStepUp.lead }),
  'step-up-failed': (reply) => reply.page('step-up', { ...stepUp, parts: [], errors: wrongCode }),
  'step-up-hostile': (reply) =>
    reply.page('step-up', { ...stepUp, action: hostile, errors: hostileErrors, switchHref: hostile }),
  'challenge-hostile': (reply) =>
    reply.page('challenge', { action: hostile, returnTo: hostile, errors: hostileErrors, loginHref: hostile }),
  unlock: (reply) => reply.page('unlock', { action: '/oauth/unlock/1?expires=1&signature=x' }),
  forgot: (reply) => reply.page('forgot-password', forgot),
  'forgot-sent': (reply) =>
    reply.page('forgot-password', { ...forgot, sent: 'If we know that address, a link is on its way to it.' }),
  'forgot-hostile': (reply) =>
    reply.page('forgot-password', { ...forgot, email: hostile, errors: { email: [hostile + long] } }),
  reset: (reply) => reply.page('reset-password', reset),
  'reset-hostile': (reply) =>
    reply.page('reset-password', { ...reset, token: hostile, email: hostile + long, errors: hostileErrors }),
  'home-out': (reply) => reply.page('home', home),
  'home-in': (reply) => reply.page('home', { ...home, user: ada, justVerified: true }),
  'home-unverified': (reply) => reply.page('home', { ...home, user: { ...ada, verified: false } }),
  'home-hostile': (reply) =>
    reply.page('home', { ...home, user: { name: hostile + long, email: long, verified: false }, justVerified: true }),
  consent: (reply) => reply.page('consent', consent),
  'consent-bare': (reply) => reply.page('consent', { ...consent, host: null, scopes: [] }),
  'consent-hostile': (reply) =>
    reply.page('consent', {
      action: hostile,
      client: hostile + long,
      host: hostile + long,
      user: { name: hostile + long, email: hostile + long },
      scopes: [
        { name: hostile, description: hostile + long },
        { name: hostile + long, description: '' },
      ],
      switchHref: hostile,
    }),
  device: (reply) => reply.page('device', device),
  'device-aborted': (reply) => reply.page('device', { ...device, error: 'aborted' }),
  'device-expired': (reply) => reply.page('device', { ...device, userCode: 'WDJB-MJHT', error: 'expired' }),
  'device-unknown': (reply) => reply.page('device', { ...device, userCode: 'WDJB-MJHT', error: 'unknown' }),
  'device-hostile': (reply) =>
    reply.page('device', { action: hostile, secret: hostile, userCode: hostile + long, error: 'unknown' }),
  'device-confirm': (reply) => reply.page('device-confirm', deviceConfirm),
  'device-confirm-bare': (reply) =>
    reply.page('device-confirm', { ...deviceConfirm, ipAddress: null, userAgent: null }),
  'device-confirm-hostile': (reply) =>
    reply.page('device-confirm', {
      action: hostile,
      secret: hostile,
      userCode: hostile + long,
      client: hostile + long,
      ipAddress: hostile + long,
      userAgent: hostile + long,
    }),
  'device-done': (reply) => reply.page('device-done', { client: 'Example TV' }),
  'device-done-hostile': (reply) => reply.page('device-done', { client: hostile + long }),
  logout: (reply) => reply.page('logout', logout),
  'logout-bare': (reply) => reply.page('logout', { ...logout, client: null, user: null }),
  'logout-hostile': (reply) =>
    reply.page('logout', { action: hostile, secret: hostile, client: hostile + long, user: hostile + long }),
  'logged-out': (reply) => reply.page('logged-out', { href: '/' }),
  'logged-out-hostile': (reply) => reply.page('logged-out', { href: hostile }),
  'verify-email': (reply) => reply.page('verify-email', verifyEmail),
  'verify-email-sent': (reply) => reply.page('verify-email', { ...verifyEmail, sent: true }),
  'verify-email-hostile': (reply) =>
    reply.page('verify-email', { ...verifyEmail, action: hostile, email: hostile + long, homeHref: hostile }),
  'undo-email': (reply) => reply.page('undo-email', { action: '/email/undo/1/abc', email: 'ada@example.com' }),
  'undo-email-hostile': (reply) => reply.page('undo-email', { action: hostile, email: hostile + long }),
  message: (reply) =>
    reply.page('message', {
      title: 'Your address is verified',
      message: 'You may close this page.',
      link: { href: '/', label: 'Go on' },
    }),
  'message-hostile': (reply) =>
    reply.page('message', { title: hostile, message: hostile + long, link: { href: hostile, label: hostile } }),
  diagnose: (reply) =>
    reply.page('diagnose', {
      title: 'Diagnosis',
      url: hostile,
      findings: [
        { check: 'origin', ok: true, message: 'The page at http://localhost:5173 is in the stateful list.', key: null },
        { check: 'cors', ok: false, message: hostile + long, key: 'cors.origins' },
      ],
    }),
  'test-login': (reply) => reply.page('test-login', { errors: hostileErrors }),
  'test-tokens': (reply) =>
    reply.page('test-tokens', {
      flash: { message: hostile, token: `1|${long}` },
      tokens: [
        { id: 1, name: 'test-token' },
        { id: 2, name: hostile + long },
      ],
    }),
  'error-404': () => {
    throw notFound()
  },
  'error-unverified': () => {
    throw emailUnverified()
  },
  'error-419': () => {
    throw csrfMismatch()
  },
  'error-422': () => {
    throw validationFailed({ email: [hostile + long], password: texts })
  },
  'error-429': () => {
    const message = (seconds: number) => `Too many login attempts. Please try again in ${seconds} seconds.`
    throw tooManyRequests({ max: 5, until: 60_000, now: 0 }, { message })
  },
  'error-500': () => {
    throw new Error('secret of the inside')
  },
}

/** Every page in every state, at a descriptive path. */
export const galleryPaths = [...Object.keys(states).map((name) => `/${name}`), '/errors']

/** Serves every page in every state without a backend; closed with the test. */
export async function buildGallery(
  t: Test,
  settings: Settings = {},
  onLog?: (line: string) => void,
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true, logger: onLog ? { stream: { write: onLog } } : false })
  app.decorate('config', testConfig(settings))
  app.decorate('features', features)
  await app.register(assets)
  await app.register(errorReference)
  await app.register(async (scope) => {
    await addPages(scope)
    for (const [name, show] of Object.entries(states)) scope.get(`/${name}`, async (_request, reply) => show(reply))
  })
  t.teardown(() => app.close())
  return app
}
