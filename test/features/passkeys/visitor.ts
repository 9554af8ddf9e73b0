import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import type { User } from '../../../src/identity/user.ts'
import { buildTestApp, type Settings, type TestApp, type TestAppOptions } from '../../support/app.ts'
import { Authenticator, type CeremonyOptions, type Forgery } from '../../support/authenticator.ts'
import type { Browser } from '../../support/browser.ts'

type Ceremony = 'login' | 'confirm' | 'register' | 'challenge'

const optionsOf = {
  login: '/passkeys/login/options',
  confirm: '/passkeys/confirm/options',
  register: '/user/passkeys/options',
  challenge: '/passkeys/challenge/options',
}

const answerTo = {
  login: '/passkeys/login',
  confirm: '/passkeys/confirm',
  register: '/user/passkeys',
  challenge: '/passkeys/challenge',
}

/** Forgeries that both ceremonies must reject. */
export const forgedCeremonies: Record<string, Forgery> = {
  'another origin': { origin: 'https://evil.example' },
  'another RP id': { rpId: 'evil.example' },
  'another challenge': { challenge: randomBytes(32).toString('base64url') },
  'no challenge': { challenge: '' },
  'no user verification': { userVerified: false },
  'no user presence': { userPresent: false },
  'a framed page': { crossOrigin: true },
  'a page that only names the one around it': { topOrigin: 'http://localhost:5173' },
  'a page framed by a known one': { crossOrigin: true, topOrigin: 'http://localhost:5173' },
  'trailing bytes': { trailing: Buffer.from([0]) },
}

/** svc with the front end that the software authenticator's browser shows; managing passkeys needs no password. */
export const buildPasskeyApp = (t: Test, settings: Settings = {}, options: TestAppOptions = {}): Promise<TestApp> =>
  buildTestApp(t, {
    ...options,
    settings: {
      app: { frontend_url: 'http://localhost:5173' },
      ...settings,
      passkeys: { confirm_password: false, ...(settings.passkeys ?? {}) },
    },
  })

/** A person with a browser and authenticators. */
export class Visitor {
  readonly browser: Browser

  constructor(browser: Browser) {
    this.browser = browser
  }

  /** New options for a ceremony. */
  async options(ceremony: Ceremony): Promise<CeremonyOptions> {
    const answer = await this.browser.get(optionsOf[ceremony])
    if (answer.statusCode !== 200) throw new Error(answer.body)
    return answer.json().options
  }

  /** Sends a response, valid or not. */
  answer(ceremony: Ceremony, credential: unknown, more: object = {}): Promise<LightMyRequestResponse> {
    const name = ceremony === 'register' ? { name: 'Phone' } : {}
    return this.browser.post(answerTo[ceremony], { ...name, credential, ...more })
  }

  async register(authenticator: Authenticator, forgery: Forgery = {}): Promise<LightMyRequestResponse> {
    return this.answer('register', authenticator.register(await this.options('register'), forgery))
  }

  async login(authenticator: Authenticator, forgery: Forgery = {}, more: object = {}): Promise<LightMyRequestResponse> {
    return this.answer('login', authenticator.assert(await this.options('login'), forgery), more)
  }

  async confirm(authenticator: Authenticator, forgery: Forgery = {}): Promise<LightMyRequestResponse> {
    return this.answer('confirm', authenticator.assert(await this.options('confirm'), forgery))
  }

  /** The signed-in user of the browser, or null. */
  async userId(): Promise<number | null> {
    const answer = await this.browser.get('/api/user')
    return answer.statusCode === 200 ? answer.json().id : null
  }
}

/** A user with an account, signed in by password. */
export async function signedIn(svc: TestApp): Promise<{ user: User; visitor: Visitor }> {
  const user = await svc.createUser()
  const visitor = new Visitor(svc.browser())
  await visitor.browser.signIn(user.email)
  return { user, visitor }
}

/** A user with an account and a passkey, in a browser that is not signed in. */
export async function withPasskey(
  svc: TestApp,
  authenticator = new Authenticator({ counter: 1 }),
): Promise<{ user: User; authenticator: Authenticator; owner: Visitor; guest: Visitor }> {
  const { user, visitor: owner } = await signedIn(svc)
  const answer = await owner.register(authenticator)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return { user, authenticator, owner, guest: new Visitor(svc.browser()) }
}

/** The body of every rejection of a credential. */
export const refusal = (text: string, code = 'validation_failed') => ({
  message: text,
  code,
  errors: { credential: [text] },
})

export const texts = {
  format: 'Invalid credential format.',
  loginExpired: 'Passkey verification session expired. Please try again.',
  registrationExpired: 'Passkey registration session expired. Please try again.',
  unknown: 'Passkey not recognized. It may have been removed from your account.',
  refused: 'Unable to verify passkey. Please try again.',
  notRegistered: 'Unable to register passkey. Please try again.',
  taken: 'This passkey is already registered.',
  limit: 'This account already has 100 passkeys. Delete one first.',
  disabled: 'Unable to sign in with this account.',
}

/** The recorded events of one kind, oldest first, with parsed `data`. */
export async function eventsOf(svc: TestApp, type: string): Promise<{ userId: number; data: object }[]> {
  const rows = await svc.database.prisma.event.findMany({ where: { type }, orderBy: { id: 'asc' } })
  return rows.flatMap(({ userId, data, repeats }) =>
    Array.from({ length: repeats + 1 }, () => ({ userId: Number(userId), data: JSON.parse(data) })),
  )
}
