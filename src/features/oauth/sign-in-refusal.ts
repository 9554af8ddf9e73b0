import { type HttpError, insufficientSignIn } from '../../platform/errors.ts'
import type { AccessTokenClaims } from './access-token.ts'
import { type Acr, acrsFrom } from './authentication-context.ts'

/** Requirement of `guard.step_up` for an ability; `max_age` in milliseconds. */
interface Need {
  acr: Acr | null
  max_age: number | null
}

/** Returns the 401 challenge if the token's sign-in is too weak or too old for one of the requirements; otherwise null. */
export function signInRefusal(
  { acr, auth_time, cnf }: Pick<AccessTokenClaims, 'acr' | 'auth_time' | 'cnf'>,
  needs: readonly Need[],
  now: number,
): HttpError | null {
  const refused = needs.find((need) => {
    const isWeak = need.acr !== null && !acrsFrom(need.acr).some((value) => value === acr)
    const isOld = need.max_age !== null && (auth_time === undefined || now - auth_time * 1000 > need.max_age)
    return isWeak || isOld
  })
  if (!refused) return null
  return insufficientSignIn(cnf ? 'DPoP' : 'Bearer', {
    acrValues: refused.acr === null ? [] : acrsFrom(refused.acr),
    maxAgeSeconds: refused.max_age === null ? null : Math.floor(refused.max_age / 1000),
  })
}
