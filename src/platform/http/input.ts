import type { FastifyRequest } from 'fastify'
import { HttpError, validationFailed } from '../errors.ts'
import type { Step } from './step.ts'
import { displayName } from './validation.ts'

/** Never trimmed: spaces may be part of a password. */
const untouched = new Set(['password', 'password_confirmation', 'current_password'])

/** Maximum nesting; deeper than any body of svc. */
const maxDepth = 32

/** Maximum number of values. Each invalid value costs time and a message. */
const maxValues = 1_000

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const malformed = (message: string): HttpError => new HttpError(400, 'malformed_body', message)
const tooDeep = (): HttpError => malformed('The body is nested too deeply.')

/** Throws 400 for deep nesting, which could exhaust the stack. */
export function refuseDeep(value: unknown, depth = 0): void {
  if (!isRecord(value)) return
  if (depth >= maxDepth) throw tooDeep()
  for (const entry of Object.values(value)) refuseDeep(entry, depth + 1)
}

/** Throws 422 for text that databases reject: with NUL or a lone surrogate. */
function refuseUnstorable(text: string, path: string): void {
  if (!text.includes('\0') && text.isWellFormed()) return
  throw validationFailed({ [path]: [`The ${displayName(path)} field contains characters that are not allowed.`] })
}

/** Normalises one body. */
class Normaliser {
  #values = 0

  /** Trims strings and turns empty ones into null, in place. Throws at the first invalid value. */
  normalise(value: unknown, name: string, path: string, depth: number): unknown {
    if (typeof value === 'string') {
      refuseUnstorable(value, path)
      if (untouched.has(name)) return value
      const trimmed = value.trim()
      return trimmed === '' ? null : trimmed
    }
    if (!isRecord(value)) return value
    if (depth >= maxDepth) throw tooDeep()
    const entries = Object.entries(value)
    this.#values += entries.length
    if (this.#values > maxValues) throw malformed('The body has too many values.')
    for (const [key, entry] of entries) {
      if (key.includes('\0') || !key.isWellFormed()) throw malformed('The body has a field name that is not allowed.')
      const below = path === '' ? key : `${path}.${key}`
      value[key] = this.normalise(entry, Array.isArray(value) ? name : key, below, depth + 1)
    }
    return value
  }
}

async function normaliseBody(request: FastifyRequest): Promise<void> {
  request.body ??= {}
  if (!isRecord(request.body) || Array.isArray(request.body)) throw malformed('The body must be an object.')
  new Normaliser().normalise(request.body, '', '', 0)
}

/** Tests for a body with fields. A route of another media type declares `content`, and checks its body itself. */
export const isObjectBody = (schema: unknown): boolean => Boolean(schema) && !('content' in Object(schema))

/** Trims strings and rejects invalid characters, on routes with a body schema. */
export const bodyRules: Step = {
  name: 'body rules',
  phase: 'preValidation',
  answers: [400, 422],
  hooksFor: ({ schema }) => (isObjectBody(schema?.body) ? [normaliseBody] : null),
}
