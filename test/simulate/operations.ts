import type { LightMyRequestResponse } from 'fastify'
import { day, hour, minute } from '../support/clock.ts'
import type { Random } from './random.ts'
import type { Account, Credential, Session, World } from './world.ts'

/** One request or several, as a user, an administrator or an attacker sends them. */
export interface Operation {
  name: string
  run(world: World, random: Random): Promise<void>
}

const statusOf = ({ statusCode }: LightMyRequestResponse): number => statusCode

/** Tests for an answer that leaves open whether svc made the change, because a connection broke. */
const isUnknown = (answer: LightMyRequestResponse): boolean => answer.statusCode >= 500

/** No account ever has this password. */
const wrong = 'not the password'

const newPassword = (world: World): string => `${world.nextName('battery staple ')}x`

const live = <Each extends Credential>(all: readonly Each[]): Each[] => all.filter(({ ended }) => ended === null)

/** Checks what svc says about a credential against what it acknowledged before the request began. */
async function use(world: World, credential: Credential, ask: () => Promise<LightMyRequestResponse>): Promise<void> {
  const { account } = credential
  const before = { ended: credential.ended, step: world.step, disabled: account.disabled && !account.isDisabledUnknown }
  world.trace.push(`  uses ${credential.name} of ${account.email}`)
  const { endings, pending } = account
  const begun = world.now
  const answer = await ask()
  const isAccepted = answer.statusCode === 200
  if (isAccepted) credential.lastUse = Math.max(credential.lastUse, begun)
  if (isAccepted && before.ended !== null && before.ended < before.step)
    world.violated(`svc accepted ${credential.name}, whose end it had acknowledged in step ${before.ended}`)
  if (isAccepted && before.disabled && account.disabled)
    world.violated(`svc accepted ${credential.name} of a disabled user`)
  // A session may expire while its request waits for hours.
  const isQuiet = pending === 0 && account.endings === endings && world.now - begun < 2 * hour
  const isUntouched = isQuiet && credential.ending === null && !account.disabled && !account.isDisabledUnknown
  if (!isAccepted && !isUnknown(answer) && isUntouched && !isExpired(world, credential))
    world.violated(`svc refused ${credential.name} with ${answer.statusCode}, although nothing had ended it`)
}

/** Sessions expire; remembered browsers and tokens outlast the simulation. */
function isExpired(world: World, credential: Credential): boolean {
  if (!('browser' in credential)) return false
  const { remembered, lastUse } = credential as Session
  return !remembered && world.now - lastUse >= 2 * hour
}

const signIn: Operation = {
  name: 'sign in',
  async run(world, random) {
    const account = random.pick(world.accounts)
    const browser = world.browser(random)
    const remember = random.chance(0.5)
    const { password, disabled } = account
    const isDoubtful = world.signingIn(account)
    const begun = world.now
    const answer = await browser.signIn(account.email, password, { remember })
    if (statusOf(answer) !== 200) {
      if (isUnknown(answer)) world.changed('login', false)
      return
    }
    if (disabled && account.disabled && !account.isDisabledUnknown) world.violated('a disabled user signed in')
    world.changed('login', true)
    world.trace.push(`  ${account.email} has a new session`)
    world.sessions.push({
      ...{ name: world.nextName('session '), account, browser, remembered: remember, lastUse: begun, ended: null },
      ending: isDoubtful() ? world.step : null,
    })
  },
}

const guess: Operation = {
  name: 'guess a password',
  async run(world, random) {
    const account = random.pick(world.accounts)
    const remoteAddress = '198.51.100.7'
    const app = random.pick(world.replicas.apps)
    const at = world.now
    const answer = await app.inject({
      ...{ method: 'POST', url: '/svc/token', remoteAddress },
      payload: { email: account.email, password: wrong, device_name: 'x' },
    })
    if (statusOf(answer) === 200) world.violated('svc accepted a wrong password')
    if (statusOf(answer) !== 422 || at !== world.now) return
    const key = `${account.email} ${remoteAddress}`
    world.failures.set(key, [...(world.failures.get(key) ?? []), at])
  },
}

const deviceSignIn: Operation = {
  name: 'sign a device in',
  async run(world, random) {
    const account = random.pick(world.accounts)
    const app = random.pick(world.replicas.apps)
    const { password } = account
    const isDoubtful = world.signingIn(account)
    const begun = world.now
    const answer = await app.inject({
      ...{ method: 'POST', url: '/svc/token', remoteAddress: `203.0.113.${1 + random.below(200)}` },
      payload: { email: account.email, password, device_name: 'phone' },
    })
    if (isUnknown(answer)) world.changed('token_created', false)
    if (statusOf(answer) !== 200) return
    world.changed('token_created', true)
    world.tokens.push({
      ...{ name: world.nextName('token '), account, text: answer.json().token, lastUse: begun, ended: null },
      ending: isDoubtful() ? world.step : null,
    })
  },
}

const readUser: Operation = {
  name: 'read the user',
  async run(world, random) {
    if (world.sessions.length === 0) return
    const session = random.pick(world.sessions)
    await use(world, session, () => session.browser.get('/api/user'))
  },
}

const useToken: Operation = {
  name: 'use a token',
  async run(world, random) {
    if (world.tokens.length === 0) return
    const token = random.pick(world.tokens)
    const app = random.pick(world.replicas.apps)
    await use(world, token, () => app.inject({ url: '/api/user', headers: { authorization: `Bearer ${token.text}` } }))
  },
}

const signOut: Operation = {
  name: 'sign out',
  async run(world, random) {
    const sessions = live(world.sessions)
    if (sessions.length === 0) return
    const session = random.pick(sessions)
    const end = world.ending(session.account, [session])
    world.trace.push(`  ends ${session.name}`)
    const answer = await session.browser.post('/logout')
    end(statusOf(answer) === 200)
  },
}

const revokeToken: Operation = {
  name: 'revoke a token',
  async run(world, random) {
    const tokens = live(world.tokens)
    if (tokens.length === 0) return
    const token = random.pick(tokens)
    const app = random.pick(world.replicas.apps)
    const end = world.ending(token.account, [token])
    const headers = { authorization: `Bearer ${token.text}` }
    const answer = await app.inject({ method: 'DELETE', url: '/api/tokens/current', headers })
    if (isUnknown(answer)) world.changed('token_revoked', false)
    if (statusOf(answer) === 200) world.changed('token_revoked', true)
    end(statusOf(answer) === 200)
  },
}

/** Changes the password of an account, which ends its other sessions. */
async function changing(
  world: World,
  { account, kept }: { account: Account; kept: Session | null },
  ask: (password: string) => Promise<LightMyRequestResponse>,
): Promise<LightMyRequestResponse> {
  const others = world.credentialsOf(account).sessions.filter((each) => each !== kept)
  const end = world.ending(account, others)
  const password = newPassword(world)
  const wasUnknown = account.isPasswordUnknown
  account.isPasswordUnknown = true
  const answer = await ask(password)
  const isChanged = statusOf(answer) === 200
  if (isChanged) account.password = password
  account.isPasswordUnknown = isUnknown(answer) || (wasUnknown && !isChanged)
  end(isChanged)
  return answer
}

const changePassword: Operation = {
  name: 'change the password',
  async run(world, random) {
    const sessions = live(world.sessions).filter(({ account }) => !account.isPasswordUnknown)
    if (sessions.length === 0) return
    const kept = random.pick(sessions)
    const { account, browser } = kept
    const current = account.password
    const answer = await changing(world, { account, kept }, (password) =>
      browser.put('/user/password', { current_password: current, password, password_confirmation: password }),
    )
    // The new cookies of the session may be lost with the answer.
    if (isUnknown(answer)) kept.ending ??= world.step
    if (isUnknown(answer)) world.changed('password_changed', false)
    if (statusOf(answer) === 200) world.changed('password_changed', true)
  },
}

const askForReset: Operation = {
  name: 'ask for a reset mail',
  async run(world, random) {
    const account = random.pick(world.accounts)
    const browser = world.browser(random)
    await browser.get('/svc/csrf-cookie')
    await browser.post('/forgot-password', { email: account.email })
  },
}

const reset: Operation = {
  name: 'set a new password with a mailed link, twice at once',
  async run(world, random) {
    for (const app of world.replicas.apps) await app.outbox.deliverDue()
    for (const { to, text } of world.replicas.mails.splice(0)) {
      const [, token] = /reset-password\/([\w-]+)/.exec(text) ?? []
      const account = world.accounts.find(({ email }) => to.includes(email))
      if (token && account) account.resets.push({ account, token, uses: 0 })
    }
    const accounts = world.accounts.filter(({ resets }) => resets.length > 0)
    if (accounts.length === 0) return
    const account = random.pick(accounts)
    const used = account.resets.at(-1 - random.below(Math.min(2, account.resets.length)))
    if (!used) return
    const { email } = account
    const attempt = async () => {
      const browser = world.browser(random)
      await browser.get('/svc/csrf-cookie')
      const answer = await changing(world, { account, kept: null }, (password) =>
        browser.post('/reset-password', { token: used.token, email, password, password_confirmation: password }),
      )
      if (isUnknown(answer)) world.changed('password_reset', false)
      if (statusOf(answer) !== 200) return
      world.changed('password_reset', true)
      if (++used.uses > 1) world.violated('svc accepted a link for a new password twice')
    }
    await Promise.all([attempt(), attempt()])
    // Two changes at once: either password may be the last one.
    account.isPasswordUnknown ||= used.uses > 1
  },
}

const setDisabled: Operation = {
  name: 'disable or enable a user',
  async run(world, random) {
    const account = random.pick(world.accounts)
    if (account.isDisabledUnknown) return
    const disabled = !account.disabled && random.chance(0.5)
    const { sessions, tokens } = world.credentialsOf(account)
    const end = world.ending(account, disabled ? [...sessions, ...tokens] : [])
    account.isDisabledUnknown = true
    const answer = await random.pick(world.replicas.apps).inject({
      ...{ method: 'PATCH', url: `/admin/v1/users/${account.id}`, payload: { disabled } },
      headers: { authorization: `Bearer ${world.adminToken}` },
    })
    if (statusOf(answer) === 200) account.disabled = disabled
    account.isDisabledUnknown = isUnknown(answer)
    end(statusOf(answer) === 200)
  },
}

const endSessions: Operation = {
  name: 'end the sessions of a user as administrator',
  async run(world, random) {
    const account = random.pick(world.accounts)
    const end = world.ending(account, world.credentialsOf(account).sessions)
    const answer = await random.pick(world.replicas.apps).inject({
      ...{ method: 'POST', url: `/admin/v1/users/${account.id}/logout`, payload: {} },
      headers: { authorization: `Bearer ${world.adminToken}` },
    })
    end(statusOf(answer) === 200)
  },
}

const wait: Operation = {
  name: 'wait',
  async run(world, random) {
    world.replicas.clock.advance(random.pick([1_000, minute, 10 * minute, 3 * hour, day]))
  },
}

/** The operations to choose from. Frequent ones are listed several times. */
export const operations: readonly Operation[] = [
  ...[signIn, signIn, deviceSignIn, deviceSignIn, guess, guess, guess, guess],
  ...[readUser, readUser, readUser, useToken, useToken, useToken],
  ...[signOut, revokeToken, changePassword, askForReset, reset, reset, setDisabled, setDisabled, endSessions, wait],
]
