import { bearerCaller } from '../auth/access/bearer-token.ts'
import { type Caller, SessionCaller } from '../auth/access/caller.ts'
import { tokenBearer } from '../auth/tokens/bearer.ts'
import {
  type CommandContext,
  CommandError,
  type CommandInput,
  type CommandOptions,
  command,
} from '../contract/command.ts'
import { type Authenticated, admit, apiOf } from '../features/forward-auth/decision.ts'
import { originalRequest } from '../features/forward-auth/original-request.ts'
import { ruleFor } from '../features/forward-auth/rules.ts'
import { findUserByEmail } from '../identity/users.ts'
import { systemClock } from '../platform/clock.ts'
import { placeText } from '../platform/config/findings.ts'
import { HttpError, unauthenticated } from '../platform/errors.ts'
import { createLogger } from '../platform/observability/logging.ts'

const options = {
  token: { value: 'token', description: 'Send this API token or access token', excludes: 'user' },
  user: { value: 'email', description: 'Act as a browser in which this user has just signed in' },
  address: { value: 'ip', description: 'The address of the client. By default 127.0.0.1' },
  rule: { value: 'name', description: 'Apply this rule instead of the first that matches' },
} as const satisfies CommandOptions

type Input = CommandInput<typeof options>

async function test(context: CommandContext, input: Input): Promise<void> {
  const config = context.config.current()
  const { guard } = config
  const [method = '', url = ''] = input.arguments
  if (!/^https?:\/\//i.test(url))
    throw new CommandError('<url> must be a URL, such as https://api.example.com/orders/1.')
  let place = `guard.default: ${guard.default}`
  try {
    const original = originalRequest({ headers: { 'x-original-method': method, 'x-original-url': url }, method }, null)
    const rule = ruleFor(original, () => input.options.address ?? '127.0.0.1', guard.rules, input.options.rule)
    if (rule) place = `guard.rules[${guard.rules.indexOf(rule)}]${rule.place ? `, ${placeText(rule.place)}` : ''}`
    const access = rule?.access ?? guard.default
    const audience = apiOf(rule, config)?.audience
    await admit({ rule, access, config }, () => credentialOf(context, input.options, audience), context.now)
    context.print(`allowed: 200 (${place})`)
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    context.print(`denied: ${error.statusCode} ${error.message} (${place})`)
    process.exitCode = 1
  }
}

async function credentialOf(
  context: CommandContext,
  { token, user }: Input['options'],
  audience: string | undefined,
): Promise<Authenticated> {
  if (user !== undefined) return sessionOf(context, user)
  const caller = token === undefined ? null : await callerOf(context, token, audience)
  if (!caller) throw unauthenticated()
  return { caller, proof: null }
}

async function sessionOf({ database, now }: CommandContext, email: string) {
  const found = await findUserByEmail(database, email)
  if (!found || found.user.disabled) throw unauthenticated()
  const methods = found.user.two_factor_enabled ? ['pwd', 'otp', 'mfa'] : ['pwd']
  const proof = { authentication: { at: now, methods }, confirmationAge: 0 }
  return { caller: new SessionCaller({ id: null, publicId: 'test' }, found.user), proof }
}

/** Checks the token as the server does, without starting a server. */
async function callerOf(
  { config, database }: CommandContext,
  token: string,
  audience: string | undefined,
): Promise<Caller | null> {
  // Only this case needs the whole server, which would slow down every other command.
  const [{ buildApp }, { oauthBearer }] = await Promise.all([
    import('../app/app.ts'),
    import('../features/oauth/bearer.ts'),
  ])
  const logger = createLogger('error', process.stderr)
  const app = await buildApp({ config, database, clock: systemClock, logger })
  try {
    const checks = { jwt: oauthBearer(app.oauth), apiToken: tokenBearer }
    return await bearerCaller(token, { server: app }, checks, audience)
  } finally {
    await app.close()
  }
}

/** Commands for the guard. */
export const guardCommands = [
  command({
    name: 'guard:test',
    summary: 'Show whether the guard allows a request to another service',
    details: 'Prints allowed or denied, the status, and the rule with its line. Exits with 1 if the request is denied.',
    arguments: [
      { name: 'METHOD', description: 'The method, such as GET', required: true },
      { name: 'url', description: 'The URL, such as https://api.example.com/orders/1', required: true },
    ],
    options,
    run: test,
  }),
]
