import type { Visit } from '../../auth/access/visit.ts'
import { recordEvents } from '../../identity/events.ts'
import { HttpError } from '../../platform/errors.ts'
import { isSocialFailure, reasonOf } from './failure.ts'
import type { SocialProvider } from './providers/provider.ts'

/**
 * Logs why a flow failed and returns its error; rethrows other errors. Records an event only if the flow began in this
 * browser, so that forged callbacks store no rows.
 */
export async function reportFailure(
  visit: Visit,
  provider: SocialProvider,
  error: unknown,
  { isRecorded }: { isRecorded: boolean },
): Promise<HttpError> {
  if (!(error instanceof HttpError) || !isSocialFailure(error.code)) throw error
  const facts = { provider: provider.id, code: error.code }
  visit.origin.log?.info({ ...facts, reason: reasonOf(error.cause) }, 'social login failed')
  if (isRecorded) {
    const userId = visit.caller?.user?.id ?? null
    const { database, metrics } = visit.app
    await recordEvents(database, visit.origin, {
      type: 'social_login_failed',
      userId,
      credential: `provider:${provider.id}`,
      reason: error.code,
      data: facts,
    })
    metrics?.login('social', 'failed')
  }
  return error
}
