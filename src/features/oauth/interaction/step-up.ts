import type { Visit } from '../../../auth/access/visit.ts'
import { addMethod, codeMethod } from '../../../auth/sign-in/authentication-methods.ts'
import { type SecondFactorInput, secondFactorErrors } from '../../../auth/sign-in/second-factor.ts'
import { recordEvents } from '../../../identity/events.ts'
import { type FieldErrors, HttpError } from '../../../platform/errors.ts'
import { acrOf, askedContext, type Factors, isReached, type StepUp, stepUpTo } from '../authentication-context.ts'
import type { SignedIn } from '../protocol/browser.ts'
import type { InteractionDetails as Details, OAuthServer } from '../protocol/oauth-server.ts'

/** Returns the step that the user needs for the requested `acr`: `unmet` if the request must fail, null for none. */
export async function missingStepUp(
  oauthServer: OAuthServer,
  { params }: Details,
  { user, methods }: SignedIn,
): Promise<StepUp | 'unmet' | null> {
  const asked = askedContext(params)
  if (!asked || isReached(acrOf(methods), asked)) return null
  const way = stepUpTo(asked, methods, await oauthServer.factorsOf(user))
  return way ?? (asked.essential ? 'unmet' : null)
}

/** Error for the client if the user cannot reach an essential `acr`. */
export const unmet = {
  error: 'unmet_authentication_requirements',
  error_description: 'the authentication does not meet the requested acr',
}

/** A rejected code, and the page that asks for another one. */
export interface Refused {
  factors: Factors
  errors: FieldErrors
  status: number
  headers: Record<string, string>
}

/** Checks the code that a signed-in user entered. Returns null if the interaction can continue. */
export async function proveCode(
  oauthServer: OAuthServer,
  details: Details,
  signedIn: SignedIn | null,
  visit: Visit,
  proof: SecondFactorInput,
): Promise<Refused | null> {
  const { database, secondFactor } = visit.app
  // The session may have changed since the page was shown.
  const factors = signedIn && (await missingStepUp(oauthServer, details, signedIn))
  if (!signedIn || !factors || typeof factors === 'string' || !factors.code) return null
  try {
    if (!(await secondFactor.check(visit, signedIn.user, proof, 'step_up'))) {
      return { factors, errors: secondFactorErrors(proof), status: 422, headers: {} }
    }
  } catch (error) {
    if (!(error instanceof HttpError) || !error.errors) throw error
    return { factors, errors: error.errors, status: error.statusCode, headers: error.headers }
  }
  await addMethod(visit, codeMethod)
  const facts = { userId: signedIn.user.id, data: { client_id: String(details.params.client_id) } }
  await recordEvents(database, visit.origin, { type: 'stepped_up', ...facts })
  return null
}
