import type { FastifyRequest } from 'fastify'
import type { HttpError } from '../../errors.ts'
import { eventContext, recordEvents } from '../../users/events.ts'
import { credentialRefused } from './credential.ts'

/** An answer that was refused although its passkey is known. */
interface Failure {
  ceremony: 'register' | 'login' | 'confirm'
  /** Whose passkey it is, or would have become. */
  userId: number
  reason: 'counter' | 'disabled' | 'no_user_verification' | 'other_user' | 'verification'
  text: string
}

/** The most that the log says of what a verification found wrong. */
const maxReasonLength = 200

/** Logs what was wrong with a credential: a line for the operator, nothing of it for the caller. */
export function logRefusal(request: FastifyRequest, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error)
  request.log.info({ reason: text.slice(0, maxReasonLength) }, 'passkey refused')
}

/** Records the failure, and answers what to throw. */
export async function failed(request: FastifyRequest, { text, userId, ...data }: Failure): Promise<HttpError> {
  const { database } = request.server
  await recordEvents(database, eventContext(request), { type: 'passkey_failed', userId, data })
  return credentialRefused(text)
}
