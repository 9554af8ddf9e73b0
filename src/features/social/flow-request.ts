import type { Static } from 'typebox'
import { HttpError, validationFailed } from '../../errors.ts'
import { isSet } from '../../http/flag.ts'
import { localPath } from '../../http/return-to.ts'
import { displayName } from '../../http/validation.ts'
import type { RedirectQuery, TokenBody } from './schemas.ts'
import { type Flow, maxReturnLength } from './state.ts'

/** What starts a flow: its intent, and where it returns. */
export type FlowRequest = Pick<Flow, 'intent' | 'mode' | 'isAnew' | 'deviceName' | 'returnTo' | 'session'>

type Body = Static<typeof TokenBody>

const maxDeviceNameLength = 255

/** A path to go back to, unless it is longer than a cookie holds. */
export function returnOf(value: unknown): string | null {
  const path = localPath(value)
  return path !== null && path.length <= maxReturnLength ? path : null
}

/** A confirmation changes the session, so another site must not be able to begin one by a mere navigation. */
const confirmByPost = () =>
  new HttpError(400, 'access_denied', 'Confirmation starts with POST /auth/{provider}/confirm, not with ?confirm=1.')

/** Returns the flow that a redirect's query requests. Throws 400 for a confirmation and 422 for an invalid device name. */
export function flowRequestOf(query: Static<typeof RedirectQuery> & { confirm?: unknown }): FlowRequest {
  if (query.confirm !== undefined) throw confirmByPost()
  const isAnew = query.prompt === 'login'
  if (isSet(query.stateless)) {
    const name = deviceName(query.device_name)
    return { intent: 'sign_in', mode: 'stateless', isAnew, deviceName: name, returnTo: null, session: null }
  }
  const mode = isSet(query.page) ? 'page' : 'browser'
  return { intent: 'sign_in', mode, isAnew, deviceName: null, returnTo: returnOf(query.return_to), session: null }
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
export function requireFields(body: Body, names: readonly (keyof Body)[]): void {
  const missing = names.filter((name) => !body[name])
  if (missing.length === 0) return
  throw validationFailed(
    Object.fromEntries(missing.map((name) => [name, [`The ${displayName(name)} field is required.`]])),
  )
}
