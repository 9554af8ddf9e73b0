import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { type FieldErrors, HttpError, validationFailed } from '../errors.ts'
import { displayName } from './validation.ts'

/** Never trimmed: a space may be part of a password. */
const untouched = new Set(['password', 'password_confirmation', 'current_password'])

/** Deeper than any body of svc: what is nested further is refused before anything walks it. */
const deepest = 32

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const tooDeep = (): HttpError => new HttpError(400, 'malformed_body', 'The body is nested too deeply.')

/** Throws 400 for what is nested so deeply that walking or writing it could exhaust the stack. */
export function refuseDeep(value: unknown, depth = 0): void {
  if (!isRecord(value)) return
  if (depth >= deepest) throw tooDeep()
  for (const entry of Object.values(value)) refuseDeep(entry, depth + 1)
}

/** Trims strings and makes empty ones null, in place; notes strings that no database takes (NUL, lone surrogates). */
function normalise(value: unknown, name: string, path: string, depth: number, errors: FieldErrors): unknown {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) {
      errors[path] = [`The ${displayName(path)} field contains characters that are not allowed.`]
      return null
    }
    if (untouched.has(name)) return value
    const trimmed = value.trim()
    return trimmed === '' ? null : trimmed
  }
  if (!isRecord(value)) return value
  if (depth >= deepest) throw tooDeep()
  for (const [key, entry] of Object.entries(value)) {
    if (key.includes('\0') || !key.isWellFormed()) {
      throw new HttpError(400, 'malformed_body', 'The body has a field name that is not allowed.')
    }
    value[key] = normalise(
      entry,
      Array.isArray(value) ? name : key,
      path === '' ? key : `${path}.${key}`,
      depth + 1,
      errors,
    )
  }
  return value
}

async function normaliseBody(request: FastifyRequest): Promise<void> {
  request.body ??= {}
  if (!isRecord(request.body) || Array.isArray(request.body)) {
    throw new HttpError(400, 'malformed_body', 'The body must be an object.')
  }
  const errors: FieldErrors = {}
  normalise(request.body, '', '', 0, errors)
  if (Object.keys(errors).length > 0) throw validationFailed(errors)
}

/** Brings every body into one form before its validation, and after everything that may refuse the request. */
export function addInputRules(app: FastifyInstance): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    if (route.schema?.body) route.preValidation = [...[route.preValidation ?? []].flat(), normaliseBody]
  })
}
