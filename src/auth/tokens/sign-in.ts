import type { FastifyInstance } from 'fastify'
import type { User } from '../../identity/user.ts'
import { findUserById } from '../../identity/users.ts'
import { deriveCipher } from '../../platform/crypto/keys.ts'
import { randomId } from '../../platform/crypto/random.ts'
import { challengeExpired, HttpError } from '../../platform/errors.ts'
import { isTermsMissing, termsMissing } from '../access/accepted-terms.ts'
import { passwordFingerprint, passwordFingerprintMatches } from '../access/password-fingerprint.ts'
import { useOnce } from '../access/used-once.ts'
import type { Visit } from '../access/visit.ts'
import type { AuthenticationMethod } from '../sign-in/authentication-methods.ts'
import type { Channel } from '../sign-in/channel.ts'
import { secondFactorRefused } from '../sign-in/second-factor.ts'
import { checkTokenSignIn, type TokenSignInInput } from '../sign-in/token-sign-in.ts'
import type { FirstFactor } from './first-factor.ts'
import { issueForSignIn } from './issue.ts'

declare module '../../platform/crypto/keys.ts' {
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
interface IssuedToken {
  token: string
  user: User
}

/** A sign-in that waits for its second factor. The client keeps it as an encrypted challenge. */
interface PendingSignIn {
  id: string
  userId: number
  passwordFingerprint: string
  deviceName: string
  channel: Channel
  /** How the user proved the first factor. */
  method: AuthenticationMethod
  /** The version of the terms that the user accepts. */
  terms: string | null
  /** Whether it waits for the terms, and not for a second factor. */
  isForTerms: boolean
  /** Unix milliseconds. */
  expiresAt: number
}

/** Sign-ins that end in an API token. */
export interface TokenSignIns {
  /**
   * Issues an API token after a first factor whose proof works once. Throws 422 with a challenge if a second factor is
   * required and `proof` has none that is valid, or if the user must accept the terms.
   */
  finish(visit: Visit, first: FirstFactor, deviceName: string, proof?: TokenSignInInput): Promise<IssuedToken>
  /** Issues an API token for a challenge and a second factor. Throws 422 if either is invalid. */
  resume(visit: Visit, challenge: string, proof: TokenSignInInput): Promise<IssuedToken>
}

/** Lifetime of a challenge: ten minutes. */
const challengeTtl = 600_000

/** Context of the encryption. */
const context = 'challenge'

const invalidChallenge = () => challengeExpired('challenge')

const unverifiedText = 'Your email address is not verified.'

/** 422: the sign-in needs a verified address first. */
export const addressUnverified = (): HttpError =>
  new HttpError(422, 'email_unverified', unverifiedText, { errors: { email: [unverifiedText] } })

/** Opens the sign-ins that end in an API token. */
export function openTokenSignIns(app: FastifyInstance): TokenSignIns {
  const { clock, config, database, secondFactor } = app
  const cipher = deriveCipher(config.current().app.secret, 'token-challenge')

  function challengeFor(
    { user, password, channel, method }: FirstFactor,
    deviceName: string,
    { terms = null, isForTerms }: { terms?: string | null | undefined; isForTerms: boolean },
  ): string {
    const pending: PendingSignIn = {
      id: randomId(),
      userId: user.id,
      passwordFingerprint: passwordFingerprint(password),
      deviceName,
      channel,
      method,
      terms,
      isForTerms,
      expiresAt: clock.now() + challengeTtl,
    }
    return cipher.encrypt(JSON.stringify(pending), context)
  }

  function pendingOf(challenge: string): PendingSignIn {
    const opened = cipher.decrypt(challenge, context)
    const pending: PendingSignIn | null = opened === null ? null : JSON.parse(opened)
    if (!pending || clock.now() >= pending.expiresAt) throw invalidChallenge()
    return pending
  }

  return {
    async finish(visit, first, deviceName, proof = {}) {
      const { channel, method, user } = first
      const signIn = await checkTokenSignIn(visit, first, { channel, method, proof }).catch((error) => {
        // The proof works once, so the app continues with a challenge.
        if (!isTermsMissing(error)) throw error
        throw termsMissing(challengeFor(first, deviceName, { isForTerms: true }))
      })
      if (signIn === 'email_unverified') throw addressUnverified()
      if (signIn === 'second_factor') {
        throw secondFactorRefused(proof, challengeFor(first, deviceName, { terms: proof.terms, isForTerms: false }))
      }
      return { token: await issueForSignIn(visit, signIn, deviceName), user }
    },

    async resume(visit, challenge, given) {
      const {
        id,
        userId,
        passwordFingerprint: mark,
        deviceName,
        channel,
        method,
        expiresAt,
        ...pending
      } = pendingOf(challenge)
      const proof = { ...given, terms: given.terms ?? pending.terms }
      const found = await findUserById(database, userId)
      if (!found || found.user.disabled || !passwordFingerprintMatches(mark, found.password)) throw invalidChallenge()
      if (!pending.isForTerms && !secondFactor.isAskedOf(found.user)) throw invalidChallenge()
      const signIn = await checkTokenSignIn(visit, found, { channel, method, proof })
      if (signIn === 'email_unverified') throw addressUnverified()
      if (signIn === 'second_factor') throw secondFactorRefused(proof)
      if (!(await useOnce(database, 'TokenChallenge', id, expiresAt))) throw invalidChallenge()
      return { token: await issueForSignIn(visit, signIn, deviceName), user: found.user }
    },
  }
}
