import type { FastifyReply } from 'fastify'
import { showApplication } from '../../src/pages/continuation.ts'
import type { PageData } from '../../src/pages/page-data.ts'
import { hostileErrors } from './gallery-errors.ts'
import {
  ada,
  emailCodePart,
  hostile,
  long,
  orders,
  passkeyChallenge,
  passkeyPart,
  passkeyStepUp,
  presetButtons,
  providersPart,
} from './gallery-parts.ts'

const login: PageData['login'] = {
  action: '/oauth/login',
  returnTo: null,
  identifiers: ['email'],
  email: '',
  remember: false,
  errors: {},
  notice: null,
  forgotHref: '/forgot',
  registerHref: '/register',
  parts: [],
}
const linkProvider: PageData['link-provider'] = {
  title: 'Link an account at Google',
  action: '/oauth/link-provider',
  returnTo: '/account',
  offer: 'x',
  provider: { label: 'Google' },
  identity: 'ada.lovelace@example.com',
  user: ada,
}
const plainField = { kind: 'text', options: [], isRequired: false, isReadOnly: false } as const
const chosenName = {
  ...plainField,
  ...{ name: 'username', label: 'Username', value: '', autocomplete: 'nickname', maxLength: 63 },
  hint: 'Optional. Letters from a to z, digits, periods, hyphens and underscores.',
}
const declaredFields = [
  {
    ...chosenName,
    name: 'fields.team',
    label: 'Team',
    kind: 'select' as const,
    options: ['Sales', 'Support'].map((value) => ({ value, label: value })),
    hint: 'Optional',
  },
  { ...chosenName, name: 'fields.seats', label: 'Seats', kind: 'number' as const, hint: null, isRequired: true },
  {
    ...chosenName,
    name: 'fields.news',
    label: 'Send me the newsletter',
    kind: 'checkbox' as const,
    value: '1',
    hint: null,
  },
]
const oneField = (value: string, hint: string | null) => ({
  ...plainField,
  ...{ name: 'given_name', label: 'Given name', value, hint, autocomplete: 'given-name', maxLength: 255 },
})
const register: PageData['register'] = {
  action: '/oauth/register',
  returnTo: null,
  fields: [],
  name: '',
  email: '',
  remember: false,
  errors: {},
  minLength: 8,
  terms: null,
  loginHref: '/oauth/login',
  parts: [],
}
const challenge: PageData['challenge'] = {
  action: '/oauth/login/challenge',
  trustUntil: Date.parse('2026-12-24T09:00:00Z'),
  returnTo: '/email/verify/1/abc',
  errors: {},
  loginHref: '/oauth/login',
  parts: [],
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
  isSent: false,
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
  justSignedOut: false,
  loginHref: '/oauth/login',
  signOutAction: '/oauth/sign-out',
  verifyHref: '/oauth/verify-email',
  accountHref: '/account',
  parts: [],
}
const verifyEmail: PageData['verify-email'] = {
  action: '/oauth/verify-email',
  email: 'ada@example.com',
  sent: false,
  homeHref: '/',
}

const terms: PageData['terms'] = {
  action: '/oauth/terms',
  returnTo: '/x',
  version: '2026-11',
  url: 'https://example.com/terms',
  errors: {},
  accountHref: '/account',
}

/** The pages of sign-in, registration and recovery in each of their states. */
export const signInStates: Readonly<Record<string, (reply: FastifyReply) => FastifyReply>> = {
  login: (reply) => reply.page('login', login),
  'login-full': (reply) =>
    reply.page('login', {
      ...login,
      returnTo: '/x',
      notice: 'login.after_reset',
      parts: [providersPart(presetButtons), passkeyPart, emailCodePart],
    }),
  'login-application': (reply) => {
    showApplication(reply, orders)
    return reply.page('login', { ...login, returnTo: '/x', parts: [passkeyPart] })
  },
  'login-link': (reply) =>
    reply.page('login', { ...login, alert: 'login.account_exists', reason: 'login.link_reason', parts: [passkeyPart] }),
  'link-provider': (reply) => reply.page('link-provider', linkProvider),
  'link-provider-hostile': (reply) =>
    reply.page('link-provider', {
      title: hostile + long,
      action: hostile,
      returnTo: hostile,
      offer: hostile,
      provider: { label: hostile + long },
      identity: hostile + long,
      user: { name: hostile + long, email: hostile + long },
    }),
  'login-verify': (reply) => reply.page('login', { ...login, reason: 'login.verify_reason' }),
  'login-alert': (reply) => reply.page('login', { ...login, alert: 'login.account_exists' }),
  'login-passkey-first': (reply) =>
    reply.page('login', { ...login, parts: [providersPart(presetButtons), { ...passkeyPart, isPreferred: true }] }),
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
      identifiers: ['email'],
      email: hostile,
      remember: true,
      errors: hostileErrors,
      notice: 'login.after_reset',
      forgotHref: hostile,
      registerHref: hostile,
      parts: [
        providersPart([
          {
            href: hostile,
            label: hostile + long,
            mark: { viewBox: hostile, shapes: [{ path: hostile, color: hostile }] },
            letter: hostile,
            brand: hostile,
          },
          { href: hostile, label: hostile, mark: null, letter: hostile, brand: null },
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
  'register-fields': (reply) =>
    reply.page('register', { ...register, fields: [chosenName, oneField('', null), ...declaredFields] }),
  'register-fields-failed': (reply) =>
    reply.page('register', {
      ...register,
      fields: [{ ...chosenName, value: 'ada lovelace' }, oneField(hostile, hostile)],
      errors: { username: ['The username has already been taken.'] },
    }),
  'register-providers': (reply) => reply.page('register', { ...register, parts: [providersPart(presetButtons)] }),
  'register-terms': (reply) => reply.page('register', { ...register, terms }),
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
  'challenge-passkey': (reply) => reply.page('challenge', { ...challenge, parts: [passkeyChallenge] }),
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
    reply.page('challenge', {
      trustUntil: null,
      action: hostile,
      returnTo: hostile,
      errors: hostileErrors,
      loginHref: hostile,
      parts: [passkeyChallenge],
    }),
  unlock: (reply) => reply.page('unlock', { action: '/oauth/unlock/1?expires=1&signature=x' }),
  forgot: (reply) => reply.page('forgot-password', forgot),
  'forgot-sent': (reply) => reply.page('forgot-password', { ...forgot, email: ada.email, isSent: true }),
  'forgot-failed': (reply) =>
    reply.page('forgot-password', {
      ...forgot,
      email: 'ada',
      errors: { email: ['The email field must be a valid email address.'] },
    }),
  'forgot-hostile': (reply) =>
    reply.page('forgot-password', { ...forgot, email: hostile, errors: { email: [hostile + long] } }),
  reset: (reply) => reply.page('reset-password', reset),
  'reset-failed': (reply) =>
    reply.page('reset-password', {
      ...reset,
      errors: { password: ['The password field confirmation does not match.'] },
    }),
  'reset-hostile': (reply) =>
    reply.page('reset-password', { ...reset, token: hostile, email: hostile + long, errors: hostileErrors }),
  'home-out': (reply) => reply.page('home', home),
  'home-left': (reply) => reply.page('home', { ...home, justSignedOut: true }),
  'home-in': (reply) => reply.page('home', { ...home, user: ada, justVerified: true }),
  'home-unverified': (reply) => reply.page('home', { ...home, user: { ...ada, verified: false } }),
  'home-hostile': (reply) =>
    reply.page('home', { ...home, user: { name: hostile + long, email: long, verified: false }, justVerified: true }),
  'verify-email': (reply) => reply.page('verify-email', verifyEmail),
  'verify-email-sent': (reply) => reply.page('verify-email', { ...verifyEmail, sent: true }),
  'verify-email-hostile': (reply) =>
    reply.page('verify-email', { ...verifyEmail, action: hostile, email: hostile + long, homeHref: hostile }),
  terms: (reply) => reply.page('terms', terms),
  'terms-failed': (reply) =>
    reply.page('terms', { ...terms, errors: { version: ['You must accept the current terms of service.'] } }),
  'terms-hostile': (reply) =>
    reply.page('terms', { ...terms, action: hostile, version: hostile, url: hostile, accountHref: hostile }),
  'undo-email': (reply) =>
    reply.page('undo-email', { action: '/email/undo/1/abc', email: 'ada@example.com', current: 'm…@example.org' }),
  'undo-email-hostile': (reply) =>
    reply.page('undo-email', { action: hostile, email: hostile + long, current: hostile }),
}
