import type { FastifyBaseLogger } from 'fastify'

/** Why svc rejects a request, and the configuration key that changes it, if there is one. */
export interface Advice {
  message: string
  key: string | null
}

/** Logs the advice as one line after `event`, and with its parts as fields. */
export function logAdvice(
  log: Pick<FastifyBaseLogger, 'warn'>,
  event: string,
  { message, key }: Advice,
  facts: Readonly<Record<string, unknown>> = {},
): void {
  const reason = message.replace(/\.$/, '')
  log.warn({ ...facts, reason, config_key: key }, `${event}: ${reason}${key === null ? '' : `; see ${key}`}`)
}
