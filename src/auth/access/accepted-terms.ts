import type { FastifyReply, FastifyRequest } from 'fastify'
import { recordAcceptance } from '../../identity/terms.ts'
import type { User } from '../../identity/user.ts'
import type { Config } from '../../platform/config/schema.ts'
import type { Tx } from '../../platform/database/database.ts'
import { HttpError, validationFailed } from '../../platform/errors.ts'
import type { Step } from '../../platform/http/step.ts'
import type { Caller } from './caller.ts'
import { accessOf, requiresCaller } from './route-access.ts'
import type { Act, Visit } from './visit.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `required` also for a route that users with an unverified address may use. */
    terms?: 'required'
  }
}

declare module '../../platform/errors.ts' {
  interface ErrorCodes {
    terms_not_accepted: true
  }
}

/** Tests whether a user must accept the current terms first. */
export const mustAcceptTerms = ({ terms }: Pick<Config, 'terms'>, user: User | null | undefined): boolean =>
  terms.version !== null && user != null && !user.terms?.some(({ version }) => version === terms.version)

/** The same for a caller. Tokens stay valid when the terms change. */
export const isHeldByTerms = (config: Pick<Config, 'terms'>, caller: Pick<Caller, 'kind' | 'user'> | null): boolean =>
  caller?.kind === 'session' && mustAcceptTerms(config, caller.user)

const text = 'You must accept the current terms of service.'

/** 403 for a session until its user accepts the terms. */
export const termsNotAccepted = (): HttpError => new HttpError(403, 'terms_not_accepted', text)

/** 422 for a sign-in of an app; the app sends the version that the user accepts in `terms`, perhaps with a challenge. */
export const termsMissing = (challenge?: string): HttpError =>
  new HttpError(422, 'terms_not_accepted', text, {
    errors: { terms: [text] },
    ...(challenge === undefined ? {} : { challenge }),
  })

export const isTermsMissing = (error: unknown): error is HttpError =>
  error instanceof HttpError && error.code === 'terms_not_accepted'

/** Throws 422 unless the field has the current version, if there is one. Returns the version to record. */
export function acceptedVersion(
  { terms }: Pick<Config, 'terms'>,
  given: unknown,
  field: 'terms' | 'version' = 'terms',
): string | null {
  if (terms.version === null) return null
  if (given !== terms.version) throw validationFailed({ [field]: [text] })
  return terms.version
}

/**
 * Returns the version that this field of a sign-in accepts, to be recorded; null if the user has accepted the terms before.
 * Throws 422 otherwise.
 */
export function termsToRecord({ app }: Visit, user: User, field: string | null | undefined): string | null {
  const config = app.config.current()
  if (!mustAcceptTerms(config, user)) return null
  if (field !== config.terms.version) throw termsMissing()
  return config.terms.version
}

/** Records that a user accepts a version. `check` tests, under the lock of the user, that the request still counts. */
export async function acceptTerms(
  { app, origin }: Act,
  facts: { userId: number; version: string },
  check: (tx: Tx) => Promise<unknown>,
): Promise<User | null> {
  return app.database.transaction(async (tx) => {
    await check(tx)
    return recordAcceptance(app.database, tx, origin, facts)
  })
}

function requireTerms(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  done(isHeldByTerms(request.server.config.current(), request.caller) ? termsNotAccepted() : undefined)
}

/** Requires that the user of a session has accepted the current terms. */
export const acceptedTerms: Step = {
  name: 'accepted terms',
  phase: 'preValidation',
  answers: [403],
  hooksFor: (route) => {
    const isExempt = route.config?.unverified === 'allowed' && route.config.terms !== 'required'
    return requiresCaller(accessOf(route)) && !isExempt ? [requireTerms] : null
  },
}
