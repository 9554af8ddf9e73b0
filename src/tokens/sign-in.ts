import type { FastifyInstance, FastifyRequest } from 'fastify'
import { passwordFingerprint, passwordFingerprintMatches } from '../access/password-fingerprint.ts'
import { useOnce } from '../access/used-once.ts'
import { deriveCipher } from '../crypto/keys.ts'
import { randomId } from '../crypto/random.ts'
import { HttpError, validationFailed } from '../errors.ts'
import type { Channel } from '../login/channel.ts'
import { type SecondFactorInput, secondFactorErrors } from '../login/second-factor.ts'
import { checkTokenSignIn } from '../login/token-sign-in.ts'
import type { User } from '../users/user.ts'
import { findUserById } from '../users/users.ts'
import type { FirstFactor } from './first-factor.ts'
import { issueForSignIn } from './issue.ts'

declare module '../crypto/keys.ts' {
  interface CipherPurposes {
    'token-challenge': true
  }
}

declare module '../access/used-once.ts' {
  interface UsedOncePurposes {
    TokenChallenge: true
  }
}

/** A new API token and its user. */
interface SignedIn {
  token: string
  user: User
}

/** A sign-in that waits for its second factor. The client holds it, encrypted. */
interface Waiting {
  id: string
  userId: number
  passwordFingerprint: string
  deviceName: string
  channel: Channel
  /** Unix milliseconds. */
  expiresAt: number
}

/** Sign-ins that end in an API token. */
export interface TokenSignIns {
  /**
   * Issues an API token after a first factor whose proof works once. Throws 422 with a challenge if a second factor is
   * required and `proof` has none that is valid.
   */
  finish(request: FastifyRequest, first: FirstFactor, deviceName: string, proof?: SecondFactorInput): Promise<SignedIn>
  /** Issues an API token for a challenge and a second factor. Throws 422 if either is invalid. */
  resume(request: FastifyRequest, challenge: string, proof: SecondFactorInput): Promise<SignedIn>
}

/** Lifetime of a challenge: ten minutes. */
const challengeTtl = 600_000

const place = 'challenge'

const over = () => validationFailed({ challenge: ['The challenge is invalid or has expired.'] })

const text = 'Your email address is not verified.'

/** 422: the sign-in needs a verified address first. */
export const addressUnverified = (): HttpError =>
  new HttpError(422, 'email_unverified', text, { errors: { email: [text] } })

/** Opens the sign-ins that end in an API token. */
export function openTokenSignIns(app: FastifyInstance): TokenSignIns {
  const { clock, config, database, secondFactor } = app
  const cipher = deriveCipher(config.current().app.secret, 'token-challenge')

  function challengeFor({ user, password, channel }: FirstFactor, deviceName: string): string {
    const waiting: Waiting = {
      id: randomId(),
      userId: user.id,
      passwordFingerprint: passwordFingerprint(password),
      deviceName,
      channel,
      expiresAt: clock.now() + challengeTtl,
    }
    return cipher.encrypt(JSON.stringify(waiting), place)
  }

  function waitingOf(challenge: string): Waiting {
    const opened = cipher.decrypt(challenge, place)
    const waiting: Waiting | null = opened === null ? null : JSON.parse(opened)
    if (!waiting || clock.now() >= waiting.expiresAt) throw over()
    return waiting
  }

  return {
    async finish(request, first, deviceName, proof = {}) {
      const { channel, method, user } = first
      const signIn = await checkTokenSignIn(request, first, { channel, method, proof })
      if (signIn === 'email_unverified') throw addressUnverified()
      if (signIn === 'second_factor') {
        const isMissing = !proof.code && !proof.recovery_code
        const errors = isMissing
          ? { code: ['The two factor authentication code is required.'] }
          : secondFactorErrors(proof)
        throw validationFailed(errors, { challenge: challengeFor(first, deviceName) })
      }
      return { token: await issueForSignIn(request, signIn, deviceName), user }
    },

    async resume(request, challenge, proof) {
      const { id, userId, passwordFingerprint: mark, deviceName, channel, expiresAt } = waitingOf(challenge)
      const found = await findUserById(database, userId)
      if (!found || found.user.disabled || !passwordFingerprintMatches(mark, found.password)) throw over()
      if (!secondFactor.isAskedOf(found.user)) throw over()
      const signIn = await checkTokenSignIn(request, found, { channel, proof })
      if (signIn === 'email_unverified') throw addressUnverified()
      if (signIn === 'second_factor') throw validationFailed(secondFactorErrors(proof))
      if (!(await useOnce(database, 'TokenChallenge', id, expiresAt))) throw over()
      return { token: await issueForSignIn(request, signIn, deviceName), user: found.user }
    },
  }
}
