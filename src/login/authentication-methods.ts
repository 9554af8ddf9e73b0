import type { FastifyRequest } from 'fastify'

/**
 * An `amr` value (RFC 8176). Sign-in at another provider has no registered value; `fed` is the one that Microsoft Entra
 * uses.
 */
type Amr = 'pwd' | 'fed' | 'pop' | 'user' | 'otp' | 'mfa'

/** How a user authenticates. Features that sign users in have one each. */
export interface AuthenticationMethod {
  /** Its name in events. */
  name: string
  amr: readonly Amr[]
}

export const passwordMethod: AuthenticationMethod = { name: 'password', amr: ['pwd'] }

/** A code of an authenticator app, or a recovery code. */
export const codeMethod: AuthenticationMethod = { name: 'code', amr: ['otp'] }

/** Independent factors: two of them make `mfa`. */
const independent: readonly (readonly string[])[] = [['pwd', 'fed'], ['otp'], ['pop']]

/** Adds a method to the `amr` values of a session; `mfa` comes last. */
export function withMethod(values: readonly string[], { amr }: AuthenticationMethod): string[] {
  const all = new Set([...values, ...amr])
  const factors = independent.filter((names) => names.some((name) => all.has(name))).length
  const isMultiple = all.delete('mfa') || factors > 1
  return isMultiple ? [...all, 'mfa'] : [...all]
}

/** Adds a method to the session's row. The sign-in time stays; clients request a newer one with `max_age`. */
export async function addMethod({ session }: FastifyRequest, method: AuthenticationMethod): Promise<void> {
  const row = session.state?.row
  if (!row) return
  const { at, methods } = session.proof ?? { at: row.createdAt, methods: [] }
  session.proof = { at, methods: withMethod(methods, method) }
  await session.save()
}
