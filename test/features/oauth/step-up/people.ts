import { decodeJwt, type JWTPayload } from 'jose'
import type { Test } from 'tap'
import type { User } from '../../../../src/identity/user.ts'
import { buildTestApp, type Settings, type TestApp } from '../../../support/app.ts'
import { Authenticator, type Forgery } from '../../../support/authenticator.ts'
import { minute } from '../../../support/clock.ts'
import { codeFlow, oauthSettings, Person, redeem, request, response, type WalkResult } from '../../../support/oauth.ts'
import { credentials } from '../../../support/plain.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { codeAt } from '../../../support/totp.ts'
import { Visitor } from '../../passkeys/visitor.ts'

export const build = (t: Test, settings: Settings = {}): Promise<TestApp> =>
  buildTestApp(t, {
    settings: {
      ...oauthSettings,
      ...settings,
      app: { frontend_url: 'http://localhost:5173' },
      passkeys: { confirm_password: false, ...(settings.passkeys ?? {}) },
      two_factor: { confirm_password: false, ...(settings.two_factor ?? {}) },
    },
    clock: stopTime(t),
  })

/** A user whose browser runs scripts: passkeys and the front end's JSON routes work. */
export class ScriptedPerson extends Person {
  readonly svc: TestApp
  readonly user: User
  readonly visitor: Visitor
  #secret = ''

  private constructor(svc: TestApp, user: User) {
    const browser = svc.browser({ origin: 'http://localhost:8000' })
    super(browser, user.email)
    this.svc = svc
    this.user = user
    this.visitor = new Visitor(browser)
  }

  /** A new account, signed in by password. */
  static async signedIn(svc: TestApp, more: Record<string, string> = {}): Promise<ScriptedPerson> {
    const person = new ScriptedPerson(svc, await svc.createUser())
    await person.plain.send('/oauth/login', { ...credentials(person.email), ...more })
    return person
  }

  /** The same account in another browser, which is not signed in. */
  elsewhere(): ScriptedPerson {
    const other = new ScriptedPerson(this.svc, this.user)
    other.#secret = this.#secret
    return other
  }

  /** Adds an authenticator app in this session, whose next code works a minute later. */
  async addApp(): Promise<this> {
    const { browser } = this.plain
    await browser.post('/user/two-factor-authentication')
    this.#secret = (await browser.get('/user/two-factor-secret-key')).json().secretKey
    const answer = await browser.post('/user/confirmed-two-factor-authentication', { code: this.code() })
    if (answer.statusCode !== 200) throw new Error(answer.body)
    travel(this.svc, minute)
    return this
  }

  /** Adds a passkey in this session. */
  async addPasskey(): Promise<Authenticator> {
    const authenticator = new Authenticator()
    const answer = await this.visitor.register(authenticator)
    if (answer.statusCode !== 200) throw new Error(answer.body)
    return authenticator
  }

  /** The current code of the authenticator app. */
  code(): string {
    return codeAt(this.#secret, this.svc.clock.now())
  }

  async confirm(authenticator: Authenticator, forgery: Forgery = {}): Promise<void> {
    const answer = await this.visitor.confirm(authenticator, forgery)
    if (answer.statusCode !== 200) throw new Error(answer.body)
  }

  /** Requests this authentication, and follows the redirects. */
  ask(more: Record<string, string>): Promise<WalkResult> {
    return this.allow(request('web', { scope: 'openid orders:read', ...more }))
  }

  /** The claims of the ID token of a code flow that asks only for sign-in and consent. */
  async claims(more: Record<string, string> = {}): Promise<JWTPayload> {
    const tokens = await codeFlow(this.svc, this, 'web', { scope: 'openid orders:read', ...more })
    return decodeJwt(tokens.id_token ?? '')
  }
}

/** The claims of both tokens of the client, after consent if it is asked. */
export async function tokensAt(
  person: ScriptedPerson,
  stop: WalkResult,
): Promise<{ id: JWTPayload; access: JWTPayload; body: Tokens }> {
  const end = await person.decide(stop)
  const { code } = response(end)
  if (!code) throw new Error(`No code: ${end.out ?? end.page}`)
  const body = (await redeem(person.svc, 'web', code)).json()
  return { id: decodeJwt(body.id_token), access: decodeJwt(body.access_token), body }
}

interface Tokens {
  id_token: string
  access_token: string
  refresh_token: string
}

/** A `claims` parameter with an essential `acr`. */
export const essential = (...values: string[]) => ({
  claims: JSON.stringify({
    id_token: { acr: { essential: true, ...(values.length === 1 ? { value: values[0] } : { values }) } },
  }),
})

export const stepUp = 'Confirm it&#39;s you'
