import { createLocalJWKSet, errors, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose'
import { type CallerFacts, readClaims } from './caller.ts'
import { type Challenges, GuardError } from './errors.ts'
import { RemoteKeySet } from './key-set.ts'
import type { Settings } from './options.ts'
import { StatusLists } from './status-lists.ts'

/** Verifies the access tokens of svc (RFC 9068). */
export class JwtVerifier {
  readonly #find: JWTVerifyGetKey
  readonly #options: JWTVerifyOptions
  readonly #now: () => number
  readonly #challenges: Challenges
  readonly #statusLists: StatusLists | null

  constructor(settings: Settings, challenges: Challenges) {
    const { issuer, audience, algorithms, clockTolerance, keys, remote, now } = settings
    this.#find = 'uri' in keys ? new RemoteKeySet(String(keys.uri), remote).find : createLocalJWKSet(keys)
    // `typ` keeps ID tokens and logout tokens out, which svc signs with the same keys.
    this.#options = {
      issuer,
      audience,
      algorithms,
      clockTolerance,
      typ: 'at+jwt',
      requiredClaims: ['sub', 'exp', 'iat'],
    }
    this.#now = now
    this.#challenges = challenges
    this.#statusLists = settings.statusLists ? new StatusLists(settings, this.#find) : null
  }

  async verify(token: string): Promise<CallerFacts> {
    const { payload } = await jwtVerify(token, this.#find, {
      ...this.#options,
      currentDate: new Date(this.#now()),
    }).catch((error) => {
      if (error instanceof GuardError) throw error
      const isExpired = error instanceof errors.JWTExpired
      const description = isExpired ? 'The access token expired' : 'The access token is invalid'
      throw this.#challenges.invalidToken(description, error)
    })
    const facts = readClaims('jwt', payload)
    if (facts === null) throw this.#challenges.invalidToken('The access token is invalid')
    if (this.#statusLists !== null && !(await this.#statusLists.isValid(payload.status))) {
      throw this.#challenges.invalidToken('The access token was revoked')
    }
    return facts
  }
}
