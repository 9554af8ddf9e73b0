import type { FastifyRequest } from 'fastify'

/**
 * How users prove who they are, as `amr` values of RFC 8176. `fed`, a sign-in at another identity provider, has no
 * registered value; it is the one that Microsoft Entra uses.
 */
type Method = 'pwd' | 'fed' | 'pop' | 'user' | 'otp' | 'mfa'

/** What completes one step of a sign-in. */
export type Proved = 'password' | 'social' | 'passkey' | 'verified_passkey' | 'code'

const provedBy: Readonly<Record<Proved, readonly Method[]>> = {
  password: ['pwd'],
  // How the user signed in there is unknown.
  social: ['fed'],
  // Authenticators do not attest whether their key is in hardware (`hwk`) or software (`swk`).
  passkey: ['pop', 'user'],
  // The authenticator also checked a PIN or a biometric of its user.
  verified_passkey: ['pop', 'user', 'mfa'],
  code: ['otp'],
}

/** Independent ways to prove an identity: two of them are a second factor. */
const independent: readonly (readonly string[])[] = [['pwd', 'fed'], ['otp'], ['pop']]

/** The methods that a session has used once the user proved this as well; `mfa` is the last. */
export function withProof(methods: readonly string[], proved: Proved): string[] {
  const all = new Set([...methods, ...provedBy[proved]])
  const factors = independent.filter((names) => names.some((name) => all.has(name))).length
  const isMultiple = all.delete('mfa') || factors > 1
  return isMultiple ? [...all, 'mfa'] : [...all]
}

/**
 * Notes in the session's row that its user has proved this as well. The time of the sign-in stays: a client that wants
 * a newer one asks for it by `max_age`.
 */
export async function addProof({ session }: FastifyRequest, proved: Proved): Promise<void> {
  const row = session.state?.row
  if (!row) return
  const { at, methods } = session.proof ?? { at: row.createdAt, methods: [] }
  session.proof = { at, methods: withProof(methods, proved) }
  await session.save()
}
