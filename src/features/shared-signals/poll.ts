import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { deriveCipher } from '../../platform/crypto/keys.ts'
import { kindOf, type SignalJob } from './queue.ts'
import type { Stream } from './signals.ts'
import { deleteJobs, oldestJobs, settleJobs } from './store.ts'
import { signalToken } from './token.ts'

/** Tokens in one response. */
export const maxTokens = 100

/** How long svc waits for a signal, and how often it looks, in milliseconds. */
const [patience, interval] = [20_000, 1_000]

/** The streams for which a request of this process waits, so that a receiver cannot hold many connections. */
const waiting = new WeakMap<FastifyInstance, Set<string>>()

interface Poll {
  /** Maximum number of tokens. */
  max: number
  /** Whether to answer at once, although there is no token. */
  isImmediate: boolean
  /** Ids of tokens that the receiver has, or cannot use. */
  done: readonly string[]
  signal: AbortSignal
}

/** Tokens by their ids, and whether there are more. */
interface Polled {
  sets: Record<string, string>
  moreAvailable: boolean
}

/** The id of a token names its row, so that an acknowledgement finds it without an index. */
const tokenId = (row: bigint, job: SignalJob): string => `${row}.${job.id}`

/** Deletes the acknowledged signals of a stream, and returns the next ones, in their order (RFC 8936 section 2.4). */
export async function poll(app: FastifyInstance, name: string, stream: Stream, asked: Poll): Promise<Polled> {
  await acknowledge(app, name, asked.done)
  const first = await next(app, name, stream, asked.max)
  if (asked.isImmediate || asked.max === 0 || Object.keys(first.sets).length > 0) return first
  const others = waiting.get(app) ?? new Set()
  waiting.set(app, others)
  if (others.has(name)) return first
  others.add(name)
  app.log.debug({ stream: name }, 'signals wait for an event')
  try {
    for (let waited = 0; waited < patience && !asked.signal.aborted; waited += interval) {
      await sleep(interval, undefined, { signal: asked.signal }).catch(() => undefined)
      const found = await next(app, name, stream, asked.max)
      if (Object.keys(found.sets).length > 0) return found
    }
    return first
  } finally {
    others.delete(name)
    app.log.debug({ stream: name }, 'signals no longer wait')
  }
}

async function next(app: FastifyInstance, name: string, stream: Stream, max: number): Promise<Polled> {
  const kind = kindOf(name)
  const cipher = deriveCipher(app.config.current().app.secret, 'outbox')
  const found = await oldestJobs(app.database, kind, max + 1)
  const rows = found.slice(0, max)
  const sets: Record<string, string> = {}
  const lost: bigint[] = []
  for (const { id, payload } of rows) {
    const text = cipher.decrypt(payload, kind)
    if (text === null) {
      // Another replica may have a newer app.secret.
      app.log.error({ stream: name, job: String(id) }, 'a signal cannot be decrypted with app.secret')
      continue
    }
    // Sound: decryption under the kind succeeds only for jobs of the queue.
    const job = JSON.parse(text) as SignalJob
    const jti = tokenId(id, job)
    const token = await signalToken(app, [name, stream], { ...job, id: jti })
    if (token) sets[jti] = token
    else lost.push(id)
  }
  if (lost.length > 0) await deleteJobs(app.database, kind, lost)
  const sent = rows.map(({ id }) => id)
  if (sent.length > 0) await settleJobs(app.database, sent)
  return { sets, moreAvailable: found.length > max }
}

/** Deletes signals by the ids of their tokens. Ignores unknown ones, because receivers acknowledge again. */
async function acknowledge(app: FastifyInstance, name: string, ids: readonly string[]): Promise<void> {
  const rows = ids.flatMap((id) => /^(\d{1,18})\./.exec(id)?.[1] ?? []).map(BigInt)
  if (rows.length > 0) await deleteJobs(app.database, kindOf(name), rows)
}
