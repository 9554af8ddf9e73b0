import type { FastifyRequest } from 'fastify'
import { passwordFingerprint, passwordFingerprintMatches } from '../../access/password-fingerprint.ts'
import { useOnce } from '../../access/used-once.ts'
import type { Cipher } from '../../crypto/cipher.ts'
import { randomId } from '../../crypto/random.ts'
import { validationFailed } from '../../errors.ts'
import { type SecondFactorInput, secondFactorErrors } from '../../login/second-factor.ts'
import { checkTokenSignIn } from '../../login/token-sign-in.ts'
import { issueForSignIn } from '../../tokens/issue.ts'
import { findUserById, type UserWithPassword } from '../../users/users.ts'
import { socialFailure } from './failure.ts'

/** A stateless sign-in that waits for its second factor. The client holds it, encrypted. */
interface Waiting {
  id: string
  userId: number
  passwordFingerprint: string
  deviceName: string
  /** Unix milliseconds. */
  expiresAt: number
}

/** Lifetime of a challenge: ten minutes. */
const challengeTtl = 600_000

const place = 'challenge'

const over = () => validationFailed({ challenge: ['The challenge is invalid or has expired.'] })

/** Issues an API token after a provider sign-in. Throws 422 with a challenge if a second factor is required. */
export async function tokenFor(request: FastifyRequest, cipher: Cipher, found: UserWithPassword, deviceName: string) {
  const { clock } = request.server
  const { user, password } = found
  const signIn = await checkTokenSignIn(request, found, { channel: 'social' })
  if (signIn === 'email_unverified') throw socialFailure('email_unverified')
  if (signIn === 'second_factor') {
    const waiting: Waiting = {
      id: randomId(),
      userId: user.id,
      passwordFingerprint: passwordFingerprint(password),
      deviceName,
      expiresAt: clock.now() + challengeTtl,
    }
    const challenge = cipher.encrypt(JSON.stringify(waiting), place)
    throw validationFailed({ code: ['The two factor authentication code is required.'] }, { challenge })
  }
  return { token: await issueForSignIn(request, signIn, deviceName), user }
}

/** Issues an API token for a challenge and a second factor. Throws 422 if either is invalid. */
export async function tokenForChallenge(
  request: FastifyRequest,
  cipher: Cipher,
  challenge: string,
  proof: SecondFactorInput,
) {
  const { database, clock, secondFactor } = request.server
  const text = cipher.decrypt(challenge, place)
  const waiting: Waiting | null = text === null ? null : JSON.parse(text)
  if (!waiting || clock.now() >= waiting.expiresAt) throw over()
  const found = await findUserById(database, waiting.userId)
  if (!found || found.user.disabled || !passwordFingerprintMatches(waiting.passwordFingerprint, found.password))
    throw over()
  if (!secondFactor.isAskedOf(found.user)) throw over()
  const signIn = await checkTokenSignIn(request, found, { channel: 'social', proof })
  if (signIn === 'email_unverified') throw socialFailure('email_unverified')
  if (signIn === 'second_factor') throw validationFailed(secondFactorErrors(proof))
  if (!(await useOnce(database, 'SocialChallenge', waiting.id, waiting.expiresAt))) throw over()
  return { token: await issueForSignIn(request, signIn, waiting.deviceName), user: found.user }
}
