import { Type } from '../json-schema.ts'
import { apiSchema } from './description/described-schemas.ts'
import { flag } from './validation.ts'

const integerId = { type: 'integer', format: 'int64', minimum: 1 }

/** The id of a record, a number in JSON. An invalid one in a path gets 404. */
export const idParameter = (description: string, pattern = '^[1-9][0-9]{0,18}$') =>
  Type.String({ pattern, description, [apiSchema]: integerId })

/** An email address. */
export const emailField = (description = 'The email address of the account.') =>
  Type.String({ format: 'email', maxLength: 255, description })

/** An option that is on or off. */
export const optionalFlag = (description: string) =>
  Type.Optional(Type.Unknown({ description, [flag]: true, [apiSchema]: { type: 'boolean' } }))

/** Whether to keep the browser signed in. Clients send it in many forms; svc reads an unknown one as no. */
export const rememberFlag = Type.Optional(
  Type.Unknown({ description: 'Whether to keep the browser signed in.', [apiSchema]: { type: 'boolean' } }),
)

/** The same field, or null, which forms send as an empty field. */
export const nullable = ({ type, ...rules }: { type: 'string' }) =>
  Type.Unsafe<string | null>({ ...rules, type: [type, 'null'] })

/** A text, or null, which forms send as an empty field. */
export const nullableText = (description: string, rules: { maxLength?: number; format?: string } = {}) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], ...rules, description }))

/** A text that the handler checks itself, for example because a page shows the error. */
export const uncheckedText = (description: string, type: string | string[] = 'string') =>
  Type.Optional(Type.Unknown({ description, [apiSchema]: { type } }))

/** Texts of a field that a form sends any number of times, checked by the handler. */
export const uncheckedTexts = (description: string) =>
  Type.Optional(Type.Unknown({ description, [apiSchema]: { type: 'array', items: { type: 'string' } } }))

/** Text of a field that the handler checks itself; empty if the form sent something else. */
export const typedText = (value: unknown): string => (typeof value === 'string' ? value : '')
