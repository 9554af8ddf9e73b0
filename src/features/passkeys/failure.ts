import type { Visit } from '../../auth/access/visit.ts'
import { recordEvents } from '../../identity/events.ts'
import type { HttpError } from '../../platform/errors.ts'
import { logAdvice } from '../../platform/http/advice.ts'
import type { Asking } from './challenge-store.ts'
import { credentialRefused } from './credential.ts'
import { OriginRefused } from './origins.ts'

/** A rejected response for a known passkey. */
interface Failure {
  ceremony: Asking['ceremony']
  /** Owner of the passkey, or the user who registers it. */
  userId: number
  reason: 'counter' | 'disabled' | 'no_user_verification' | 'other_user' | 'verification'
  text: string
}

/** Maximum length of a logged reason. */
const maxReasonLength = 200

/** Logs why a credential was rejected. The caller does not see the reason. */
export function logRefusal(visit: Visit, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error)
  const { log } = visit.origin
  if (log && error instanceof OriginRefused) logAdvice(log, 'passkey rejected', error.advice)
  else log?.info({ reason: text.slice(0, maxReasonLength) }, 'passkey rejected')
}

/** Records the failure and returns the error to throw. */
export async function failed(visit: Visit, { text, userId, reason, ...data }: Failure): Promise<HttpError> {
  const { database, metrics } = visit.app
  await recordEvents(database, visit.origin, {
    type: 'passkey_failed',
    userId,
    credential: 'passkey',
    reason,
    data: { reason, ...data },
  })
  metrics?.login('passkey', 'failed')
  return credentialRefused(text)
}
