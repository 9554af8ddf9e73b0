import { HttpError } from '../errors.ts'

/** A limit that rejects a request until a time; both times in Unix milliseconds. */
export interface Refusal {
  max: number
  until: number
  now: number
}

interface RefusalText {
  /** Receives the number of seconds to wait. */
  message?: (seconds: number) => string
  /** Fields that show the message. */
  fields?: readonly string[]
}

/** The headers of limits, for browsers: scripts of other origins read only listed headers. */
export const limitHeaderNames = [
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
] as const

/** Headers of every response of a limited route. */
export const limitHeaders = (max: number, remaining: number): Record<string, string> => ({
  'x-ratelimit-limit': String(max),
  'x-ratelimit-remaining': String(Math.max(0, remaining)),
})

/** The 429 of every limit, with the headers that Laravel sends. */
export function tooManyRequests({ max, until, now }: Refusal, { message, fields }: RefusalText = {}): HttpError {
  const seconds = Math.max(1, Math.ceil((until - now) / 1000))
  const text = message?.(seconds) ?? 'Too Many Attempts.'
  return new HttpError(429, 'too_many_requests', text, {
    ...(fields ? { errors: Object.fromEntries(fields.map((field) => [field, [text]])) } : {}),
    headers: {
      ...limitHeaders(max, 0),
      'x-ratelimit-reset': String(Math.ceil(until / 1000)),
      'retry-after': String(seconds),
    },
  })
}
