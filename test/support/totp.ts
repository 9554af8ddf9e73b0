import { createGuardrails, generateSync } from 'otplib'
import type { Test } from 'tap'
import type { User } from '../../src/identity/user.ts'
import { deviceSignIn } from './accounts.ts'
import { buildTestApp, type TestApp } from './app.ts'
import type { Browser } from './browser.ts'
import { minute } from './clock.ts'

/** Laravel's secrets have 10 bytes. */
const guardrails = createGuardrails({ MIN_SECRET_BYTES: 10 })

/** The code of an authenticator app this many steps of 30 seconds away from the clock's time. */
export const codeAt = (secret: string, now: number, steps = 0): string =>
  generateSync({ secret, epoch: Math.floor(now / 1000) + 30 * steps, guardrails })

/** A code that matches none of the steps around the clock's time. */
export function wrongCode(secret: string, now: number): string {
  const near = [-2, -1, 0, 1, 2].map((steps) => codeAt(secret, now, steps))
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !near.includes(code)) ?? ''
}

/** A user with a confirmed second factor, the browser that enabled it, and the authenticator app. */
export interface TwoFactorUser {
  user: User
  email: string
  browser: Browser
  secret: string
  recoveryCodes: string[]
  /** The current code, or that of this many steps away. */
  code(steps?: number): string
  wrong(): string
}

/** Signs in and confirms the password. */
export async function confirmedBrowser(svc: TestApp, email: string): Promise<Browser> {
  const browser = svc.browser()
  await browser.signIn(email)
  const answer = await browser.post('/user/confirm-password', { password: 'correct horse' })
  if (answer.statusCode !== 201) throw new Error(answer.body)
  return browser
}

/** Enables and confirms a second factor over HTTP; a minute later its codes are fresh. */
export async function enableTwoFactor(svc: TestApp, given?: User): Promise<TwoFactorUser> {
  const user = given ?? (await svc.createUser())
  const { email } = user
  const browser = await confirmedBrowser(svc, email)
  await browser.post('/user/two-factor-authentication')
  const secret: string = (await browser.get('/user/two-factor-secret-key')).json().secretKey
  const recoveryCodes: string[] = (await browser.get('/user/two-factor-recovery-codes')).json()
  const code = (steps = 0) => codeAt(secret, svc.clock.now(), steps)
  const confirmed = await browser.post('/user/confirmed-two-factor-authentication', { code: code() })
  if (confirmed.statusCode !== 200) throw new Error(confirmed.body)
  svc.clock.advance(minute)
  return { user, email, browser, secret, recoveryCodes, code, wrong: () => wrongCode(secret, svc.clock.now()) }
}

/** A browser whose sign-in waits for its second factor. */
export async function challenged(svc: TestApp, email: string, more: object = {}): Promise<Browser> {
  const browser = svc.browser()
  const answer = await browser.signIn(email, undefined, more)
  if (answer.json().two_factor !== true) throw new Error(answer.body)
  return browser
}

/** Requests an API token with the password and a second factor. */
export const deviceWithFactor = (svc: TestApp, email: string, proof: object, remoteAddress?: string) =>
  deviceSignIn(svc, { email, password: 'correct horse', ...proof }, remoteAddress)

/** Two replicas on one database and one clock, and a user with a second factor. */
export async function twoFactorReplicas(
  t: Test,
  settings: object = {},
): Promise<{ svc: TestApp; other: TestApp; ada: TwoFactorUser }> {
  const svc = await buildTestApp(t, { settings: { ...settings } })
  const other = await buildTestApp(t, { settings: { ...settings }, database: svc.where, clock: svc.clock })
  return { svc, other, ada: await enableTwoFactor(svc) }
}
