import {
  type CommandContext,
  CommandError,
  type CommandInput,
  type CommandOptions,
  command,
} from '../../contract/command.ts'
import { jsonOption, printRows } from '../../contract/command-output.ts'
import { type EventContext, systemOrigin } from '../../identity/events.ts'
import { canonicalEmail, type User } from '../../identity/user.ts'
import { findUserByEmail } from '../../identity/users.ts'
import { wireDate } from '../../identity/wire-date.ts'
import { reasonOf } from '../../platform/dependencies.ts'
import type { Answer } from './answer.ts'
import { Hook, type HookName } from './hook.ts'
import { registrationQuestion, signInQuestion, tokenQuestion } from './questions.ts'

const names: readonly HookName[] = ['before_registration', 'before_sign_in', 'before_token']

const options = {
  email: { value: 'address', description: 'Ask about this user instead of an example' },
  json: jsonOption,
} as const satisfies CommandOptions

const exampleUser = (now: number): User => ({
  id: 0,
  name: 'Example User',
  username: 'example',
  email: 'user@example.com',
  email_verified_at: wireDate(new Date(now)),
  role: 'user',
  groups: [],
  language: 'en',
  two_factor_enabled: false,
  created_at: wireDate(new Date(now)),
  updated_at: wireDate(new Date(now)),
  disabled: false,
})

function questionOf(
  name: HookName,
  user: User,
  { config, origin }: { config: CommandContext['config']; origin: EventContext },
) {
  if (name === 'before_registration') {
    const { username, email, given_name = null, family_name = null, fields = {} } = user
    const account = { name: user.name, email, username, given_name, family_name, fields }
    return registrationQuestion(origin, { ...account, method: 'password', isInvited: false })
  }
  if (name === 'before_sign_in') {
    const signIn = { user, channel: 'page', method: 'password', amr: ['pwd'], isNewAccount: false } as const
    return signInQuestion(origin, config.current(), signIn)
  }
  const clientId = config.current().clients[0]?.client_id ?? 'example'
  const asked = { user, clientId, grant: 'authorization_code', scopes: [], audience: config.current().app.url }
  return tokenQuestion(origin, config.current(), asked)
}

interface Result {
  hook: HookName
  result: 'allow' | 'deny' | 'failed'
  ms: number
  details: string | null
}

function detailsOf(answer: Answer): string | null {
  if (answer.deny) return answer.deny.message
  const required = answer.requiresSecondFactor ? ['requires a second factor'] : []
  const claims = Object.keys(answer.claims).length > 0 ? [`claims ${JSON.stringify(answer.claims)}`] : []
  return [...required, ...claims].join(', ') || null
}

async function test(context: CommandContext, input: CommandInput<typeof options>) {
  const { config, database, now, subscriber } = context
  const { email, json } = input.options
  const given = input.arguments
  const { hooks, outbound } = config.current()
  const unknown = given.find((name) => !names.some((one) => one === name))
  if (unknown !== undefined) throw new CommandError(`${unknown} is not a hook. The hooks are: ${names.join(', ')}.`)
  const missing = names.find((name) => given.includes(name) && !hooks[name])
  if (missing) throw new CommandError(`The configuration has no hook hooks.${missing}.`)
  const wanted = names.filter((name) => hooks[name] && (given.length === 0 || given.includes(name)))
  if (wanted.length === 0) throw new CommandError('The configuration has no hooks.')
  const found = email === undefined ? null : await findUserByEmail(database, canonicalEmail(email))
  if (email !== undefined && !found) throw new CommandError(`No user has the address ${email}.`)
  const user = found?.user ?? exampleUser(now)
  const origin = systemOrigin({ now, subscriber })
  const results: Result[] = []
  for (const name of wanted) {
    const settings = hooks[name]
    if (!settings) continue
    const state = { failed: () => {}, worked: () => {} }
    const hook = new Hook({ name, settings, outbound, state, tracing: null, now: () => Date.now() })
    const begin = performance.now()
    const answer = await hook.test(questionOf(name, user, { config, origin })).catch((error: unknown) => ({ error }))
    hook.close()
    const ms = Math.round(performance.now() - begin)
    if ('error' in answer) {
      const effect = settings.on_failure === 'allow' ? 'go on' : 'refuse with 503'
      const details = `${reasonOf(answer.error)} svc would ${effect}, because on_failure is ${settings.on_failure}.`
      results.push({ hook: name, result: 'failed', ms, details })
    } else results.push({ hook: name, result: answer.deny ? 'deny' : 'allow', ms, details: detailsOf(answer) })
  }
  printRows(context, results, { json, columns: ['hook', 'result', 'ms', 'details'], empty: '' })
  const failed = results.filter(({ result }) => result === 'failed')
  if (failed.length > 0) throw new CommandError(`Without a valid answer: ${failed.map(({ hook }) => hook).join(', ')}.`)
}

/** Commands for decision hooks. */
export const hookCommands = [
  command({
    name: 'hook:test',
    summary: 'Ask the decision hooks a test question',
    details:
      'Sends each hook of the configuration, or the one that you name, a signed message with "test": true. Prints its decision and the time that it took. The exit code is 1 if a hook gives no valid answer.',
    arguments: [
      { name: 'hook', description: 'One of before_registration, before_sign_in and before_token. By default all' },
    ],
    options,
    run: test,
  }),
]
