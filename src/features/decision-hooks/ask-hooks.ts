import type { FastifyInstance } from 'fastify'
import type { Act } from '../../auth/access/visit.ts'
import { type Decisions, deniedByPolicy, secondFactorDemanded } from '../../auth/sign-in/decisions.ts'
import { type EventContext, recordEvents } from '../../identity/events.ts'
import type { Config } from '../../platform/config/schema.ts'
import { unavailable } from '../../platform/errors.ts'
import { limitedAddress } from '../../platform/http/client-address.ts'
import { type Answer, allowed } from './answer.ts'
import type { Hook, HookName, HookSettings } from './hook.ts'
import { registrationQuestion, signInQuestion, tokenQuestion } from './questions.ts'
import { TooManyQuestions } from './too-many-questions.ts'

/** What a user reads if a hook gives no reason. */
const defaultMessages: Record<HookName, string> = {
  before_registration: 'This registration was refused.',
  before_sign_in: 'This sign-in was refused.',
  before_token: 'The token was refused.',
}

/** Clients try again after this many seconds. */
const retryAfter = 5

interface Refused {
  userId: number | null
  data: Record<string, string>
}

interface OpenHook {
  settings: HookSettings
  outbound: Config['outbound']
  /** Loaded on first use: most servers have no hooks. */
  hook: Promise<Hook>
}

/** The hooks of the active configuration. */
class OpenHooks {
  readonly #app: FastifyInstance
  readonly #open = new Map<HookName, OpenHook>()

  constructor(app: FastifyInstance) {
    this.#app = app
  }

  /** Returns the hook, or null without one. */
  find(name: HookName): OpenHook | null {
    const { hooks, outbound } = this.#app.config.current()
    const settings = hooks[name]
    const known = this.#open.get(name)
    if (known && known.settings === settings && known.outbound === outbound) return known
    if (known) this.#app.background(async () => (await known.hook).close())
    this.#open.delete(name)
    const key = `hook:${name}`
    if (!settings) {
      this.#app.dependencies.remove(key)
      return null
    }
    const { dependencies, tracing, clock } = this.#app
    const state = dependencies.of(key)
    const parts = { name, settings, outbound, state, tracing, now: () => clock.now() }
    const opened = { settings, outbound, hook: import('./hook.ts').then(({ Hook }) => new Hook(parts)) }
    this.#open.set(name, opened)
    return opened
  }

  async close(): Promise<void> {
    for (const { hook } of this.#open.values()) (await hook).close()
  }
}

/** Decides with the hooks of the configuration; allows everything without one. */
export function askHooks(app: FastifyInstance): Decisions {
  const hooks = new OpenHooks(app)
  app.addHook('onClose', () => hooks.close())

  async function ask(
    name: HookName,
    { origin }: Pick<Act, 'origin'>,
    { key, question, refused }: { key: string; question: () => object; refused: () => Refused },
  ) {
    const found = hooks.find(name)
    if (!found) return allowed
    const begin = performance.now()
    const outcome = (kind: 'allowed' | 'denied' | 'failed') =>
      app.metrics?.hook(name, kind, (performance.now() - begin) / 1000)
    let answer: Answer
    try {
      answer = await (await found.hook).ask(question(), key)
    } catch (error) {
      outcome('failed')
      // Otherwise, many requests at once could make svc go on without the hook.
      if (error instanceof TooManyQuestions) throw unavailable(error, retryAfter)
      if (found.settings.on_failure === 'allow') return allowed
      throw unavailable(error, retryAfter)
    }
    if (!answer.deny) {
      outcome('allowed')
      return answer
    }
    outcome('denied')
    await record(name, origin, refused())
    throw deniedByPolicy(answer.deny.message ?? defaultMessages[name], name === 'before_token' ? 'token' : 'account')
  }

  const record = (hook: HookName, origin: EventContext, { userId, data }: Refused, reason?: string) =>
    recordEvents(app.database, origin, {
      ...{ type: 'denied_by_hook', userId, data: { hook, ...data } },
      ...(reason === undefined ? {} : { reason }),
    })

  return {
    async registration(visit, account) {
      await ask('before_registration', visit, {
        key: limitedAddress(visit.address),
        question: () => registrationQuestion(visit.origin, account),
        refused: () => ({ userId: null, data: { method: account.method } }),
      })
    },
    async signIn(visit, signIn) {
      const { user, channel, method, amr } = signIn
      const refused = () => {
        app.metrics?.login(channel, 'failed')
        return { userId: user.id, data: { channel, method } }
      }
      const { requiresSecondFactor } = await ask('before_sign_in', visit, {
        key: `user:${user.id}`,
        question: () => signInQuestion(visit.origin, app.config.current(), signIn),
        refused,
      })
      if (!requiresSecondFactor || amr.includes('mfa')) return 'allowed'
      if (channel !== 'remembered' && app.secondFactor.isAskedOf(user)) return 'second_factor'
      await record('before_sign_in', visit.origin, refused(), 'second_factor')
      throw secondFactorDemanded()
    },
    async token(act, token) {
      const { user, clientId, grant } = token
      const { claims } = await ask('before_token', act, {
        key: user ? `user:${user.id}` : `client:${clientId}`,
        question: () => tokenQuestion(act.origin, app.config.current(), token),
        refused: () => ({ userId: user?.id ?? null, data: { client_id: clientId, grant_type: grant } }),
      })
      return claims
    },
  }
}
