import { Ajv } from 'ajv'
import type { Config } from '../../platform/config/schema.ts'
import { isMapping } from '../../platform/config/walk.ts'

/** Maximum size of the claims of one answer as JSON, in bytes, because they travel in each request to an API. */
const maxClaims = 2_048

const maxMessage = 300

/** The hook answered, but svc cannot use the answer. */
export class UnusableAnswer extends Error {}

interface Permission {
  deny?: undefined
  claims: Readonly<Record<string, unknown>>
  requiresSecondFactor: boolean
}

/** A decision of a hook. */
export type Answer = Permission | { deny: { message: string | null } }

export const allowed: Permission = { claims: {}, requiresSecondFactor: false }

interface Allowing {
  claims?: Record<string, unknown>
}

/** Values of claims: text, numbers, truth values, and lists of texts. */
const claim = {
  anyOf: [{ type: ['string', 'number', 'boolean'] }, { type: 'array', items: { type: 'string' } }],
}

const ajv = new Ajv({ strict: false, strictNumbers: true })

const schemaOf = (name: keyof Config['hooks'], claims: readonly string[]) => ({
  type: 'object',
  properties: {
    deny: { enum: [null, false] },
    ...(name === 'before_token' && {
      claims: {
        type: 'object',
        properties: Object.fromEntries(claims.map((one) => [one, claim])),
        additionalProperties: false,
      },
    }),
  },
  additionalProperties: false,
})

/** Reads the answers of a hook. An invalid answer throws, unless it refuses or requires a factor, which always counts. */
export function answerReader(
  name: keyof Config['hooks'],
  claims: readonly string[],
): (status: number, text: string) => Answer {
  const validate = ajv.compile<Allowing>(schemaOf(name, claims))
  return (status, text) => {
    const body = parsed(text)
    if (isMapping(body) && body.deny !== undefined && body.deny !== null && body.deny !== false) {
      return { deny: { message: isMapping(body.deny) ? messageOf(body.deny.message) : null } }
    }
    if (name === 'before_sign_in' && isMapping(body) && body.require === 'second_factor') {
      return { claims: {}, requiresSecondFactor: true }
    }
    if (status < 200 || status > 299) throw new UnusableAnswer(`The hook answered ${status}.`)
    if (status === 204) return allowed
    if (body === undefined) throw new UnusableAnswer('The answer of the hook is not JSON.')
    if (!validate(body))
      throw new UnusableAnswer(`The answer of the hook is invalid: ${problemOf(validate.errors ?? [])}`)
    const given = body.claims ?? {}
    if (Buffer.byteLength(JSON.stringify(given)) > maxClaims) {
      throw new UnusableAnswer(`The claims in the answer of the hook are larger than ${maxClaims} bytes.`)
    }
    return { claims: given, requiresSecondFactor: false }
  }
}

/** Returns the body, or undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns a message that fits in one paragraph; null without one. */
function messageOf(message: unknown): string | null {
  if (typeof message !== 'string') return null
  const text = message.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  return text === '' ? null : [...text].slice(0, maxMessage).join('')
}

function problemOf([error]: NonNullable<ReturnType<typeof ajv.compile>['errors']>): string {
  const { instancePath = '', message = '', params = {} } = error ?? {}
  const place = instancePath === '' ? 'the body' : instancePath.slice(1).replaceAll('/', '.')
  const unknown = 'additionalProperty' in params ? ` (${params.additionalProperty})` : ''
  return `${place} ${message}${unknown}.`
}
