import { randomBytes } from 'node:crypto'
import { publicAddress, type TestApp } from '../../support/app.ts'
import { day, hour, minute, second } from '../../support/clock.ts'
import { basic, hiddenFields, Person, post, request, secret } from '../../support/oauth.ts'
import { credentials, ScriptlessBrowser } from '../../support/plain.ts'
import { confirmedBrowser, enableTwoFactor } from '../../support/totp.ts'
import { codeLimits, codeRoutes } from './code-cases.ts'
import { type Case, fill, growing, guest, once, twice } from './reach.ts'

/** A client that may exchange passwords. */
export const trusted = {
  client_id: 'trusted',
  type: 'confidential',
  secret,
  grants: ['password'],
  scopes: ['stock:read'],
}

/** Only the limit of a case applies. */
export const off = { mail: null, register: null, login: null, login_address: null, two_factor: null, token: null }

const device = (svc: TestApp, email: string, more: object = {}) =>
  svc.bearer(null, 'POST', '/svc/token', { email, password: 'wrong', device_name: 'd', ...more })

const mobile = (svc: TestApp, more: object) => device(svc, '', { password: 'correct horse', ...more })

const json = (svc: TestApp, method: 'GET' | 'POST', url: string, body?: object) => () =>
  svc.browser().send(method, url, body)

const guessSecret = ({ app }: TestApp) =>
  app.inject({ method: 'POST', url: '/oauth/introspect', headers: basic('web', 'wrong'), payload: { token: 'x' } })

/** Routes that declare a limit, and cases that reach it. */
export const routes: Record<string, Case> = {
  ...codeRoutes,
  'POST /register': {
    rates: { register: once },
    reach: async (svc) => {
      const browser = await guest(svc)
      return twice(() => browser.post('/register', {}))
    },
  },
  'POST /svc/register': {
    rates: { register: once },
    reach: (svc) => twice(() => svc.bearer(null, 'POST', '/svc/register', {})),
  },
  'POST /svc/email-code': {
    rates: { mail: once },
    reach: (svc) => twice(() => svc.bearer(null, 'POST', '/svc/email-code', {})),
  },
  'POST /svc/forgot-password': {
    rates: { mail: once },
    reach: (svc) => twice(() => svc.bearer(null, 'POST', '/svc/forgot-password', {})),
  },
  'POST /svc/token with a provider': {
    rates: { token: once },
    reach: (svc) => {
      const fields = { provider: 'x', authorization_code: 'x', redirect_uri: 'x', device_name: 'x' }
      return twice(() => svc.bearer(null, 'POST', '/svc/token', fields))
    },
  },
  'POST /forgot-password': {
    rates: { mail: once },
    reach: async (svc) => {
      const browser = await guest(svc)
      return twice(() => browser.post('/forgot-password', {}))
    },
  },
  'POST /oauth/forgot-password': {
    rates: { mail: once },
    reach: async (svc) => {
      const visitor = new ScriptlessBrowser(svc)
      return twice(() => visitor.send('/oauth/forgot-password', { email: 'ada@example.com' }))
    },
  },
  'POST /oauth/register': {
    rates: { register: once },
    reach: async (svc) => {
      const visitor = new ScriptlessBrowser(svc)
      return twice(() => visitor.send('/oauth/register', { name: '' }))
    },
  },
  'POST /oauth/verify-email': {
    rates: { mail: once },
    reach: async (svc) => {
      const visitor = new ScriptlessBrowser(svc)
      await visitor.send('/oauth/login', credentials((await svc.createUser({ verified: false })).email))
      return twice(() => visitor.send('/oauth/verify-email', {}, '_token'))
    },
  },
  'POST /oauth/token/fresh': {
    rates: {},
    reach: async (svc) => {
      const browser = svc.browser()
      const { id, email } = await svc.createUser()
      await browser.signIn(email)
      await fill(svc, `fresh-token:user ${id}`, { max: 60, window: minute, block: 'window' })
      return browser.post('/oauth/token/fresh', {})
    },
    max: 60,
  },
  ...Object.fromEntries(
    ['/user/export', '/account/data/export'].map((url): [string, Case] => [
      `GET ${url}`,
      {
        rates: {},
        reach: async (svc) => {
          const { id, email } = await svc.createUser()
          const browser = await confirmedBrowser(svc, email)
          await fill(svc, `data-export:user ${id}`, { max: 10, window: hour, block: 'window' })
          return browser.get(url)
        },
        max: 10,
      },
    ]),
  ),
  'POST /user/confirmation-code': {
    rates: { mail: once },
    reach: async (svc) => {
      const browser = svc.browser()
      await browser.signIn((await svc.createUser()).email)
      return twice(() => browser.post('/user/confirmation-code'))
    },
  },
  'POST /email/verification-notification': {
    rates: { mail: once },
    reach: async (svc) => {
      const browser = svc.browser()
      await browser.signIn((await svc.createUser({ verified: false })).email)
      return twice(() => browser.post('/email/verification-notification'))
    },
  },
  ...Object.fromEntries(
    ['/email/verify/1/abc', '/verify-email/1/abc'].map((url) => [
      `GET ${url.replace('1/abc', ':id/:hash')}`,
      {
        rates: { mail: once },
        reach: async (svc: TestApp) => {
          const browser = svc.browser()
          await browser.signIn((await svc.createUser()).email)
          return twice(() => browser.get(url))
        },
      },
    ]),
  ),
  'POST /auth/:provider/token': {
    rates: { token: once },
    reach: async (svc) => twice(json(svc, 'POST', '/auth/github/token', {})),
  },
  'POST /svc/passkeys/registration-options': {
    rates: {},
    reach: async (svc) => {
      const token = await svc.createToken(await svc.createUser())
      await fill(svc, `passkey-options:${publicAddress}`, { max: 60, window: minute, block: 'window' })
      return svc.bearer(token, 'POST', '/svc/passkeys/registration-options', {})
    },
    max: 60,
  },
  'POST /svc/passkeys/options': {
    rates: {},
    reach: async (svc) => {
      await fill(svc, `passkey-options:${publicAddress}`, { max: 60, window: minute, block: 'window' })
      return svc.bearer(null, 'POST', '/svc/passkeys/options')
    },
    max: 60,
  },
  'GET /passkeys/challenge/options': {
    rates: {},
    reach: async (svc) => {
      await fill(svc, `passkey-options:${publicAddress}`, { max: 60, window: minute, block: 'window' })
      return json(svc, 'GET', '/passkeys/challenge/options')()
    },
    max: 60,
  },
  'GET /passkeys/login/options': {
    rates: {},
    reach: async (svc) => {
      await fill(svc, `passkey-options:${publicAddress}`, { max: 60, window: minute, block: 'window' })
      return json(svc, 'GET', '/passkeys/login/options')()
    },
    max: 60,
  },
}

/** Limits that no route declares. */
export const others: Record<string, Case> = {
  ...codeLimits,
  'all requests': { rates: { global: once }, reach: (svc) => twice(json(svc, 'GET', '/health/live')) },
  'a changed address': {
    rates: { mail: once },
    reach: async (svc) => {
      const browser = await confirmedBrowser(svc, (await svc.createUser()).email)
      let n = 0
      return twice(() => browser.put('/user/profile-information', { name: 'Ada', email: `new${n++}@example.com` }))
    },
  },
  'mail to one mailbox': {
    rates: { mail: '2/1s' },
    reach: async (svc) => {
      const browser = svc.browser()
      await browser.signIn((await svc.createUser({ verified: false })).email)
      const send = () => browser.post('/email/verification-notification')
      await twice(send)
      svc.clock.advance(second)
      return send()
    },
    max: 2,
  },
  'a password from one address': {
    rates: { login: once },
    reach: (svc) => twice(() => device(svc, 'ada@example.com')),
  },
  'a password on the page': {
    rates: { login: once },
    reach: async (svc) => {
      const visitor = new ScriptlessBrowser(svc)
      return twice(() => visitor.send('/oauth/login', credentials('ada@example.com', 'wrong')))
    },
  },
  'a password of a client': {
    rates: { login: once },
    reach: (svc) => {
      const fields = { grant_type: 'password', username: 'ada@example.com', password: 'wrong' }
      return twice(() => post(svc, '/oauth/token', 'trusted', fields))
    },
  },
  'passwords of many accounts': {
    rates: { login_address: once },
    reach: async (svc) => {
      await device(svc, 'ada@example.com')
      return device(svc, 'grace@example.com')
    },
  },
  'passwords of an account from many addresses': {
    rates: {},
    reach: async (svc) => {
      await fill(svc, 'account:ada@example.com', growing(50, hour))
      return device(svc, 'ada@example.com')
    },
    max: 50,
  },
  'a second factor': {
    rates: { two_factor: once },
    reach: async (svc) => {
      const { email, wrong } = await enableTwoFactor(svc)
      svc.clock.advance(10 * minute)
      return twice(() => mobile(svc, { email, code: wrong() }))
    },
  },
  'second factors in the long run': {
    rates: {},
    reach: async (svc) => {
      const { email, user, wrong } = await enableTwoFactor(svc)
      await fill(svc, `two-factor-account:${user.id}`, growing(50, day))
      return mobile(svc, { email, code: wrong() })
    },
    max: 50,
  },
  'client authentication': {
    rates: { token: once },
    reach: (svc) => twice(() => guessSecret(svc)),
  },
  'device codes of an address': {
    rates: { authorization: once },
    reach: (svc) => twice(() => post(svc, '/oauth/device/code', 'tv', {})),
  },
  'device codes of all addresses': {
    rates: { authorization: null, authorization_total: once },
    reach: (svc) => twice(() => post(svc, '/oauth/device/code', 'tv', {})),
  },
  'authorization requests': {
    rates: { authorization: once },
    reach: (svc) => {
      const url = `/oauth/authorize?${new URLSearchParams(request('web', { state: randomBytes(2_000).toString('base64url') }))}`
      const visit = () => new ScriptlessBrowser(svc).open(url, { 'sec-fetch-mode': 'navigate' })
      return twice(visit)
    },
  },
  'user codes on the page': {
    rates: {},
    reach: async (svc) => {
      const { user, person } = await visitorOf(svc)
      const form = await person.go('/oauth/device')
      await fill(svc, `user_code:user ${user.id}`, { max: 20, window: hour, block: 'window' })
      const fields = { ...hiddenFields(form.answer.body), user_code: 'BBBB-BBBB' }
      return person.plain.post('/oauth/device', fields)
    },
    max: 20,
  },
}

async function visitorOf(svc: TestApp) {
  const user = await svc.createUser()
  const person = new Person(svc, user.email)
  await person.signIn()
  return { user, person }
}
