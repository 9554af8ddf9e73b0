import type { Config } from '../../platform/config/schema.ts'
import { HttpError, validationFailed } from '../../platform/errors.ts'
import { isSet } from '../../platform/http/flag.ts'
import { localPath, returnTarget } from '../../platform/http/return-to.ts'
import { displayName } from '../../platform/http/validation.ts'
import type { Static } from '../../platform/json-schema.ts'
import type { RedirectQuery } from './schemas.ts'
import { type Flow, maxReturnLength } from './state.ts'

/** What starts a flow: its intent, and where it returns. */
export type FlowRequest = Pick<
  Flow,
  'intent' | 'mode' | 'isOwn' | 'isReauthentication' | 'deviceName' | 'returnTo' | 'session' | 'invitation'
>

const maxDeviceNameLength = 255

/** Returns a path to go back to; null if it is not local or too long for a cookie. */
export function returnOf(value: unknown): string | null {
  return short(localPath(value))
}

const short = (target: string | null): string | null =>
  target !== null && target.length <= maxReturnLength ? target : null

/** The 400 for a confirmation by GET. It changes the session, so a link on another site must not be able to start it. */
const confirmByPost = () =>
  new HttpError(400, 'access_denied', 'Confirmation starts with POST /auth/{provider}/confirm, not with ?confirm=1.')

/** Returns the flow that a redirect's query requests. Throws 400 for a confirmation and 422 for an invalid device name. */
export function flowRequestOf(
  query: Static<typeof RedirectQuery> & { confirm?: unknown },
  config: Config,
): FlowRequest {
  if (query.confirm !== undefined) throw confirmByPost()
  const isReauthentication = query.prompt === 'login'
  if (isSet(query.stateless)) {
    const name = deviceName(query.device_name)
    return { intent: 'sign_in', mode: 'stateless', isReauthentication, deviceName: name, returnTo: null, session: null }
  }
  const shared = { intent: 'sign_in', isReauthentication, deviceName: null, session: null } as const
  if (!isSet(query.page)) return { ...shared, mode: 'browser', returnTo: returnOf(query.return_to) }
  return { ...shared, mode: 'page', returnTo: short(returnTarget(config, query.return_to)) }
}

function deviceName(value: unknown): string {
  const name = typeof value === 'string' ? value.trim() : ''
  if (name === '') throw validationFailed({ device_name: ['The device name field is required.'] })
  const isStorable = !name.includes('\0') && name.isWellFormed()
  if (isStorable && [...name].length <= maxDeviceNameLength) return name
  throw validationFailed({
    device_name: [`The device name field must not be greater than ${maxDeviceNameLength} characters.`],
  })
}

/** Throws 422 for every named field that is missing. */
export function requireFields<Body extends object>(body: Body, names: readonly (keyof Body & string)[]): void {
  const missing = names.filter((name) => !body[name])
  if (missing.length === 0) return
  throw validationFailed(
    Object.fromEntries(missing.map((name) => [name, [`The ${displayName(name)} field is required.`]])),
  )
}
