import { decodeJwt } from 'jose'
import type { User } from '../../../src/identity/user.ts'
import type { Settings, TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { token } from '../../support/oauth.ts'
import type { Reloading } from './reloading-app.ts'

/** Observes something that a key controls. */
export type Observation = (svc: Reloading) => Promise<unknown>

/** The part of a text that matches, or null. */
export const words =
  (pattern: RegExp, observe: (svc: Reloading) => Promise<unknown>): Observation =>
  async (svc) =>
    pattern.exec(String(await observe(svc)))?.[1] ?? null

/** A page of svc. */
export const page =
  (url: string): Observation =>
  async ({ app }) =>
    (await app.inject({ url, headers: { accept: 'text/html' } })).body

/** The answer to an unauthenticated request. */
export const answered =
  (url: string, read: 'statusCode' | 'headers' | 'body', headers: Record<string, string> = {}): Observation =>
  async ({ app }) => {
    const answer = await app.inject({ url, headers })
    return read === 'headers' ? JSON.stringify(answer.headers) : answer[read]
  }

/** A value of the options for signing in with a passkey. */
export const options = (name: string): Observation =>
  words(new RegExp(`"${name}":"([^"]+)"`), answered('/passkeys/login/options', 'body'))

export async function signedIn(
  svc: TestApp,
  { remember = false, ...facts }: { verified?: boolean; remember?: boolean } = {},
) {
  const browser = svc.browser()
  const user = await svc.createUser(facts)
  const answer = await browser.signIn(user.email, 'correct horse', { remember })
  return { browser, user, cookies: [answer.headers['set-cookie']].flat().join('\n') }
}

/** The answer to an authenticated request. */
export const asUser =
  (act: (browser: Browser, svc: Reloading) => Promise<{ statusCode: number }>, facts = {}): Observation =>
  async (svc) =>
    (await act((await signedIn(svc, facts)).browser, svc)).statusCode

/** Whether a session is still valid after this many milliseconds. */
export const after = (milliseconds: number, path = '/api/user'): Observation =>
  asUser((browser, svc) => {
    svc.clock.advance(milliseconds)
    return browser.get(path)
  })

/** The status of the task list for a personal access token that has no sign-in. */
export const tasksByPersonalToken: Observation = async (svc) => {
  const { browser } = await signedIn(svc)
  const asked = { name: 'x', scopes: ['view-tasks'] }
  const { accessToken } = (await browser.post('/oauth/personal-access-tokens', asked)).json()
  return (await svc.bearer(accessToken, 'GET', '/api/task')).statusCode
}

/** Starts a device flow; any caller may, with the id of a public client. */
export const startDevice = ({ app }: TestApp, remoteAddress: string) =>
  app.inject({
    method: 'POST',
    url: '/oauth/device/code',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'client_id=tv&scope=orders:read',
    remoteAddress,
  })

const visitor = async (svc: TestApp): Promise<Browser> => {
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  return browser
}

let people = 0

/** Registers a user, with overrides for the form. */
export async function registering(svc: TestApp, more: Settings = {}) {
  const browser = await visitor(svc)
  const password = more.password ?? 'a long enough password'
  const form = { name: 'New', email: `new${++people}@example.com`, password, password_confirmation: password, ...more }
  return { browser, answer: await browser.post('/register', form) }
}

export const registered =
  (more: Settings = {}): Observation =>
  async (svc) =>
    (await registering(svc, more)).answer.statusCode

/** Requests a password-reset mail. */
export const forgetting = async (svc: TestApp, email: string) =>
  (await visitor(svc)).post('/forgot-password', { email })

/** The last mail that an action sends. */
export const mailed =
  (act: (svc: Reloading) => Promise<unknown>): ((svc: Reloading) => Promise<string>) =>
  async (svc) => {
    const before = (await svc.mailbox.all()).length
    await act(svc)
    return JSON.stringify((await svc.mailbox.all())[before])
  }

/** The answer to a token request of a machine client. */
export const machine = (svc: TestApp) => token(svc, 'machine', { grant_type: 'client_credentials' })

/** A claim of a machine client's token. */
export const claim =
  (part: 0 | 1, name: string): Observation =>
  async (svc) => {
    const { access_token } = (await machine(svc)).json()
    return JSON.parse(Buffer.from(access_token.split('.')[part], 'base64url').toString())[name]
  }

/** How many wrong attempts are answered before one gets 429. */
export const tries =
  (attempt: (svc: Reloading) => Promise<{ statusCode: number }>): Observation =>
  async (svc) => {
    for (let n = 0; n < 3; n++) if ((await attempt(svc)).statusCode === 429) return n
    return 'unlimited'
  }

/** How many mails of one kind are sent immediately. */
export async function mailCount(svc: Reloading): Promise<number> {
  const before = (await svc.mailbox.all()).length
  await registering(svc)
  return (await svc.mailbox.all()).length - before
}

export function asUserText(path: string, pattern: RegExp): Observation {
  return words(pattern, async (svc) => (await (await signedIn(svc)).browser.get(path)).body)
}

export function status(act: (svc: Reloading) => Promise<{ statusCode: number }>): Observation {
  return async (svc) => (await act(svc)).statusCode
}

export function header(act: (svc: Reloading) => Promise<{ headers: Record<string, unknown> }>): Observation {
  return async (svc) => (await act(svc)).headers['x-ratelimit-limit']
}

export function logged(pattern: RegExp, path = '/api/user'): Observation {
  return async (svc) => {
    svc.logs.length = 0
    await svc.bearer('wrong', 'GET', path)
    return svc.logs.some((line) => pattern.test(line))
  }
}

/** Whether a verified user has a pending new address. */
export const pendingEmail: Observation = async (svc) => {
  const { email } = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(email)
  await browser.post('/user/confirm-password', { password: 'correct horse' })
  await browser.put('/user/profile-information', { name: 'A', email: `new-${email}` })
  return 'pending_email' in (await browser.get('/api/user')).json()
}

/** Asks the guard about a request to another service with an API token. */
const forwarded = async (svc: Reloading, user?: User) => {
  const authorization = `Bearer ${await svc.createToken(user ?? (await svc.createUser()))}`
  const headers = { authorization, 'x-original-method': 'GET', 'x-original-url': 'https://api.example.com/' }
  return svc.app.inject({ url: '/svc/guard', headers, remoteAddress: '192.0.2.250' })
}

/** Audience of the token for the API `orders`. */
export const apiAudience: Observation = async (svc) => {
  const authorization = `Bearer ${await svc.createToken(await svc.createUser())}`
  const headers = { authorization, 'x-original-method': 'GET', 'x-original-url': 'https://api.example.com/for-orders' }
  const answer = await svc.app.inject({ url: '/svc/guard', headers, remoteAddress: '192.0.2.250' })
  return decodeJwt(String(answer.headers.authorization).slice('Bearer '.length)).aud
}

export const forwardedStatus: Observation = status((svc) => forwarded(svc))

/** The header with the groups of a user with the role `user` who is in two groups. */
export const remoteGroups: Observation = async (svc) => {
  const user = await svc.createUser()
  const where = { id: BigInt(user.id) }
  await svc.database.prisma.user.update({ where, data: { groups: '["a","b"]' } })
  return (await forwarded(svc, user)).headers['remote-groups']
}

export const remoteUser: Observation = async (svc) => {
  const user = (await forwarded(svc)).headers['remote-user']
  return String(user).includes('@') ? 'email' : 'id'
}

/** Whether a sign-in offers the browser to bind its session. */
export const offersBinding: Observation = async (svc) => {
  const { email } = await svc.createUser()
  return 'secure-session-registration' in (await svc.browser().signIn(email)).headers
}
