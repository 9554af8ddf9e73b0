// engine: none
import t from 'tap'
import { removePassword, strongPassword } from '../../support/accounts.ts'
import { buildTestApp, confirming, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { codeAt } from '../../support/totp.ts'

const password = 'correct horse'

interface Person {
  svc: TestApp
  spa: Browser
  email: string
  id: number
  token: string
}

type Answer = { statusCode: number; body: string }

/** Every route of an account, requested as by its user. */
const routes: Record<string, (person: Person) => Promise<Answer>> = {
  user: ({ spa }) => spa.get('/api/user'),
  bearer: ({ svc, token }) => svc.bearer(token, 'GET', '/api/user'),
  name: ({ spa, email }) => spa.put('/user/profile-information', { name: 'Ada L.', email }),
  confirm: ({ spa }) => spa.post('/user/confirm-password', { password }),
  status: ({ spa }) => spa.get('/user/confirmed-password-status'),
  address: ({ spa, email }) => spa.put('/user/profile-information', { name: 'Ada', email: `new-${email}` }),
  resend: ({ spa }) => spa.post('/email/verification-notification'),
  verify: ({ spa, id }) => spa.get(`/email/verify/${id}/${'a'.repeat(64)}?expires=9999999999&signature=x`),
  password: ({ spa }) =>
    spa.put('/user/password', {
      current_password: password,
      password: strongPassword,
      password_confirmation: strongPassword,
    }),
  sessions: ({ spa }) => spa.get('/user/sessions'),
  session: ({ spa }) => spa.delete(`/user/sessions/${'A'.repeat(43)}`),
  others: ({ spa }) => spa.delete('/user/other-sessions', { password: strongPassword }),
  factor: ({ spa }) => spa.post('/user/two-factor-authentication'),
  secret: ({ spa }) => spa.get('/user/two-factor-secret-key'),
  passkeys: ({ spa }) => spa.get('/user/passkeys/options'),
  tokens: ({ spa }) => spa.get('/api/tokens'),
  create: ({ spa }) => spa.post('/api/tokens/create', { token_name: 'x' }),
  device: ({ svc, spa: _, email }) =>
    svc.bearer(null, 'POST', '/svc/token', { email: `new-${email}`, password: strongPassword, device_name: 'x' }),
  register: ({ spa }) =>
    spa.post('/register', {
      name: 'B',
      email: 'b@example.com',
      password: strongPassword,
      password_confirmation: strongPassword,
    }),
  logout: async ({ svc, email }) => {
    const other = svc.browser()
    await other.signIn(`new-${email}`, strongPassword)
    return other.post('/logout')
  },
  delete: ({ spa }) => spa.delete('/user'),
  after: ({ spa }) => spa.get('/api/user'),
}

const usual: Record<keyof typeof routes, number> = {
  user: 200,
  bearer: 200,
  name: 200,
  confirm: 201,
  status: 200,
  address: 200,
  resend: 202,
  verify: 403,
  password: 200,
  sessions: 200,
  session: 404,
  others: 200,
  factor: 200,
  secret: 200,
  passkeys: 200,
  tokens: 200,
  create: 200,
  device: 200,
  register: 409,
  logout: 200,
  delete: 200,
  after: 401,
}

/** The answers to anonymous callers: the session is over, and address and password are invalid. */
const anonymous = {
  ...Object.fromEntries(Object.keys(routes).map((name) => [name, 401])),
  device: 422,
  // Without a session, registration is allowed.
  register: 201,
  delete: 423,
  after: 200,
}

/** Restricted to verified addresses, where verification is required. */
const guarded = ['password', 'sessions', 'session', 'others', 'factor', 'secret', 'passkeys', 'tokens', 'create']

interface State {
  settings?: { registration?: object; [section: string]: unknown }
  verified?: boolean
  prepare?: (person: Person) => Promise<unknown>
  /** Differences from the usual answers. */
  answers: Record<string, number>
}

const states: Record<string, State> = {
  verified: { answers: {} },
  unverified: { verified: false, answers: {} },
  'unverified where that is required': {
    verified: false,
    settings: { registration: { require_verified_email: true } },
    answers: {
      ...Object.fromEntries([...guarded, 'status'].map((name) => [name, 403])),
      // The password was not changed.
      device: 422,
      logout: 401,
    },
  },
  'verified where that is required, until the address changes': {
    settings: { registration: { require_verified_email: true } },
    answers: {
      ...Object.fromEntries(guarded.map((name) => [name, 403])),
      device: 422,
      logout: 401,
    },
  },
  'a second factor that is not confirmed': {
    prepare: async ({ spa }) => {
      await spa.post('/user/confirm-password', { password })
      await spa.post('/user/two-factor-authentication')
    },
    answers: {},
  },
  'a second factor that is confirmed': {
    prepare: async ({ svc, spa }) => {
      await spa.post('/user/confirm-password', { password })
      await spa.post('/user/two-factor-authentication')
      const { secretKey } = (await spa.get('/user/two-factor-secret-key')).json()
      const code = codeAt(secretKey, svc.clock.now())
      await spa.post('/user/confirmed-two-factor-authentication', { code })
    },
    // The password alone authenticates nothing: no token, and no session that could be ended.
    answers: { device: 422, logout: 401 },
  },
  disabled: {
    prepare: ({ svc, id }) =>
      svc.database.prisma.user.update({ where: { id: BigInt(id) }, data: { disabledAt: new Date() } }),
    answers: anonymous,
  },
  deleted: {
    prepare: ({ svc, id }) => svc.database.prisma.user.delete({ where: { id: BigInt(id) } }),
    answers: anonymous,
  },
  'without a password': {
    prepare: ({ svc, id }) => removePassword(svc, id),
    answers: {
      confirm: 422,
      address: 423,
      resend: 204,
      password: 422,
      others: 423,
      factor: 423,
      secret: 423,
      passkeys: 423,
      device: 422,
      logout: 401,
      delete: 423,
      after: 200,
    },
  },
}

for (const [name, { settings = {}, verified = true, prepare, answers }] of Object.entries(states)) {
  t.test(`a user: ${name}`, async (t) => {
    // The later steps use the new address.
    const registration = { email_change: 'immediate', ...settings.registration }
    const svc = await buildTestApp(t, {
      settings: { ...confirming, ...settings, registration, rate_limits: { login: null } },
    })
    const email = 'ada@example.com'
    const user = await svc.createUser({ email, verified })
    const spa = svc.browser()
    await spa.signIn(email)
    const person: Person = { svc, spa, email, id: user.id, token: await svc.createToken(user) }
    await prepare?.(person)
    const found: Record<string, number> = {}
    for (const [route, ask] of Object.entries(routes)) {
      const answer = await ask(person)
      found[route] = answer.statusCode
      if (answer.statusCode === 403 && route !== 'verify') {
        t.strictSame(JSON.parse(answer.body), {
          message: 'Your email address is not verified.',
          code: 'email_unverified',
        })
      }
    }
    t.strictSame(found, { ...usual, ...answers })
    t.strictSame(
      svc.logs.filter((line) => /"level":"(error|fatal)"/.test(line)),
      [],
    )
  })
}
