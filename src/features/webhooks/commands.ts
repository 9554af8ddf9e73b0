import {
  alwaysJsonOption,
  type CommandContext,
  CommandError,
  type CommandInput,
  type CommandOptions,
  command,
} from '../../contract/command.ts'
import { deriveCipher } from '../../platform/crypto/keys.ts'
import { listFailed, retryFailed } from '../../platform/jobs/failed-jobs.ts'
import { outboxStates } from '../../platform/jobs/outbox-state.ts'
import { kindOf, type WebhookJob, webhookKinds } from './queue.ts'
import { lastErrorOf, typesOf } from './store.ts'

const listOptions = {
  failed: { description: 'List the failed messages instead, newest first' },
  before: { value: 'id', description: 'With --failed: continue after this id' },
  limit: { value: 'number', range: [1, 1000], default: 100, description: 'With --failed: maximum number of messages' },
  json: alwaysJsonOption,
} as const satisfies CommandOptions

const idOf = (text: string): bigint => {
  if (!/^\d{1,18}$/.test(text))
    throw new CommandError(`${text} is not the id of a message. Run svc webhook:list --failed.`)
  return BigInt(text)
}

async function list(context: CommandContext, { options }: CommandInput<typeof listOptions>): Promise<void> {
  if (options.failed) return listMessages(context, options)
  const { database, config, now, print } = context
  const states = await outboxStates(database, [], now)
  for (const { url, events } of config.current().webhooks) {
    const { pending = 0, failed = 0, age = 0 } = states.get(kindOf(url)) ?? {}
    const counts = { pending, failed, oldest_seconds: Math.round(age / 1000) }
    print(JSON.stringify({ url, events, ...counts, last_error: await lastErrorOf(database, kindOf(url)) }))
  }
}

async function listMessages(
  { database, config, print }: CommandContext,
  { before, limit }: { before?: string; limit: number },
): Promise<void> {
  const { app, webhooks } = config.current()
  const cipher = deriveCipher(app.secret, 'outbox')
  const rows = await listFailed(database, {
    kinds: webhookKinds,
    before: before === undefined ? null : idOf(before),
    limit,
  })
  const messages = rows.map((row) => {
    const text = cipher.decrypt(row.payload, row.kind)
    // Sound: decryption under the kind succeeds only for jobs of the queue.
    return { ...row, job: text === null ? null : (JSON.parse(text) as WebhookJob) }
  })
  const types = await typesOf(
    database,
    messages.flatMap(({ job }) => (job ? [BigInt(job.event)] : [])),
  )
  for (const { id, kind, job, attempts, createdAt, failedAt, lastError } of messages) {
    print(
      JSON.stringify({
        id: Number(id),
        url: webhooks.find(({ url }) => kindOf(url) === kind)?.url ?? null,
        webhook_id: job?.id ?? null,
        event: (job && types.get(BigInt(job.event))) ?? null,
        attempts,
        created_at: createdAt.toISOString(),
        failed_at: failedAt?.toISOString() ?? null,
        last_error: lastError,
      }),
    )
  }
}

const replayOptions = {
  url: { value: 'url', description: 'Replay all failed messages of this receiver' },
  all: { description: 'Replay all failed messages', excludes: 'url' },
} as const satisfies CommandOptions

async function replay(
  { database, config, now, print }: CommandContext,
  { options, arguments: ids }: CommandInput<typeof replayOptions>,
): Promise<void> {
  const { url, all } = options
  const isById = ids.length > 0
  if ([isById, url !== undefined, all === true].filter(Boolean).length !== 1)
    throw new CommandError('Name the messages: either their ids, or --url, or --all.')
  if (url !== undefined && !config.current().webhooks.some((receiver) => receiver.url === url))
    throw new CommandError(`webhooks has no receiver with the URL ${url}.`)
  const choice = { ...(isById && { ids: ids.map(idOf) }), ...(url !== undefined && { kind: kindOf(url) }) }
  const count = await retryFailed(database, { kinds: webhookKinds, ...choice }, now)
  print(`${count} message${count === 1 ? '' : 's'} will be sent again.`)
}

/** Commands for webhooks. */
export const webhookCommands = [
  command({
    name: 'webhook:list',
    summary: 'List the webhook receivers, or the messages that they did not accept',
    details:
      'Prints one JSON object per line: the receivers with their numbers of pending and failed messages, and why the last failed attempt failed.',
    options: listOptions,
    run: list,
  }),
  command({
    name: 'webhook:replay',
    summary: 'Send failed webhook messages again',
    details: 'The messages keep their webhook-id. The server sends them within seconds.',
    arguments: [{ name: 'id', description: 'An id of svc webhook:list --failed' }],
    options: replayOptions,
    run: replay,
  }),
]
