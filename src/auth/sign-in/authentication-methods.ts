import type { Visit } from '../access/visit.ts'

/**
 * `amr` values (RFC 8176). Features declare others.
 * @public
 */
export interface AmrValues {
  pwd: true
  pop: true
  user: true
  otp: true
  mfa: true
  email: true
}

/** How a user authenticates. Features that sign users in have one each. */
export interface AuthenticationMethod {
  /** Its name in events. */
  name: string
  amr: readonly (keyof AmrValues)[]
}

export const passwordMethod: AuthenticationMethod = { name: 'password', amr: ['pwd'] }

/** A code of an authenticator app, or a recovery code. */
export const codeMethod: AuthenticationMethod = { name: 'code', amr: ['otp'] }

/** A code that svc mailed. RFC 8176 has no value for it: `otp` is the authenticator app, which is a second factor. */
export const emailCodeMethod: AuthenticationMethod = { name: 'email_code', amr: ['email'] }

/** Whether a value proves the password, or what a feature accepts in its place. */
const isFirstFactor = (value: string): boolean => !['otp', 'pop', 'user', 'mfa'].includes(value)

/** Adds a method to the `amr` values of a session; `mfa` comes last. */
export function withMethod(values: readonly string[], { amr }: AuthenticationMethod): string[] {
  const all = new Set([...values, ...amr])
  const factors = [all.has('otp'), all.has('pop'), [...all].some(isFirstFactor)].filter(Boolean).length
  // Two independent factors make `mfa`.
  const isMultiple = all.delete('mfa') || factors > 1
  return isMultiple ? [...all, 'mfa'] : [...all]
}

/** Adds a method to the session's row. The sign-in time stays; clients request a newer one with `max_age`. */
export async function addMethod({ session }: Visit, method: AuthenticationMethod): Promise<void> {
  const row = session.state?.row
  if (!row) return
  const { at, methods } = session.proof ?? { at: row.createdAt, methods: [] }
  session.proof = { at, methods: withMethod(methods, method) }
  await session.save()
}
