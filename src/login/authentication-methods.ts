import type { FastifyRequest } from 'fastify'

/**
 * Authentication methods as `amr` values (RFC 8176). Sign-in at another provider has no registered value; `fed` is the
 * one that Microsoft Entra uses.
 */
type Method = 'pwd' | 'fed' | 'pop' | 'user' | 'otp' | 'mfa'

/** Proof that completes one step of a sign-in. */
export type Proved = 'password' | 'social' | 'passkey' | 'verified_passkey' | 'code'

const provedBy: Readonly<Record<Proved, readonly Method[]>> = {
  password: ['pwd'],
  // The method at the provider is unknown.
  social: ['fed'],
  // Passkeys do not reliably attest hardware (`hwk`) or software (`swk`) keys.
  passkey: ['pop', 'user'],
  // The authenticator also checked a PIN or biometrics.
  verified_passkey: ['pop', 'user', 'mfa'],
  code: ['otp'],
}

/** Independent factors: two of them make `mfa`. */
const independent: readonly (readonly string[])[] = [['pwd', 'fed'], ['otp'], ['pop']]

/** Adds a proof to the methods of a session; `mfa` comes last. */
export function withProof(methods: readonly string[], proved: Proved): string[] {
  const all = new Set([...methods, ...provedBy[proved]])
  const factors = independent.filter((names) => names.some((name) => all.has(name))).length
  const isMultiple = all.delete('mfa') || factors > 1
  return isMultiple ? [...all, 'mfa'] : [...all]
}

/** Adds a proof to the session's row. The sign-in time stays; clients request a newer one with `max_age`. */
export async function addProof({ session }: FastifyRequest, proved: Proved): Promise<void> {
  const row = session.state?.row
  if (!row) return
  const { at, methods } = session.proof ?? { at: row.createdAt, methods: [] }
  session.proof = { at, methods: withProof(methods, proved) }
  await session.save()
}
