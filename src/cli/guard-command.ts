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
import type { Authenticated } from '../features/forward-auth/decision.ts'
import { justSignedIn, tryRequest } from '../features/forward-auth/try-request.ts'
import { findUserByEmail } from '../identity/users.ts'
import { systemClock } from '../platform/clock.ts'
import { placeText } from '../platform/config/findings.ts'
import { unauthenticated } from '../platform/errors.ts'
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
  const { address = '127.0.0.1', rule: ruleName } = input.options
  const trial = { method, url, address, ruleName }
  const credential = (audience: string | undefined) => credentialOf(context, input.options, audience)
  const { status, denied, rule } = await tryRequest(config, trial, credential, context.now)
  const place = rule
    ? `guard.rules[${guard.rules.indexOf(rule)}]${rule.place ? `, ${placeText(rule.place)}` : ''}`
    : `guard.default: ${guard.default}`
  if (denied === null) return context.print(`allowed: 200 (${place})`)
  context.print(`denied: ${status} ${denied} (${place})`)
  process.exitCode = 1
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
  const caller = new SessionCaller({ id: null, publicId: 'test', bindingId: 'test' }, found.user)
  return { caller, proof: justSignedIn(found.user, now) }
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
