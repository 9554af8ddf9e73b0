import { Ajv, type ValidateFunction } from 'ajv'
import type { Config } from '../platform/config/schema.ts'
import { type FieldErrors, validationFailed } from '../platform/errors.ts'
import { isName } from '../platform/http/formats.ts'

/** Values of the fields in `users.fields`, by name. */
export type Fields = Readonly<Record<string, unknown>>

type FieldConfig = Pick<Config, 'users'>
type Declared = Config['users']['fields'][string]

/** Who writes fields. */
export type FieldWriter = Declared['write'][number]

const ajv = new Ajv({ strict: false, strictNumbers: true, allErrors: false })
const validators = new WeakMap<object, ValidateFunction>()

/** The JSON Schema of a field, with the limits that apply to every one. */
function jsonSchemaOf({ schema }: Declared): object {
  const { type, enum: choices, minLength, maxLength, pattern, minimum, maximum, maxItems } = schema
  const given = (keywords: object) => Object.fromEntries(Object.entries(keywords).filter(([, value]) => value !== null))
  const strings = given({ type: 'string', enum: choices, minLength, maxLength: maxLength ?? 1_000, pattern })
  if (type === 'string') return strings
  if (type === 'array') return { type, items: strings, maxItems: maxItems ?? 100, uniqueItems: true }
  return given({ type, minimum, maximum })
}

/** Tests whether the value of a field is valid. */
export function isValidField(declared: Declared, value: unknown): boolean {
  let validate = validators.get(declared)
  if (!validate) {
    validate = ajv.compile(jsonSchemaOf(declared))
    validators.set(declared, validate)
  }
  return (
    validate(value) && [value].flat().every((one) => typeof one !== 'string' || (one.isWellFormed() && isName(one)))
  )
}

/** The field of this name; undefined if the configuration declares none. */
const declaredField = ({ users }: FieldConfig, name: string): Declared | undefined =>
  Object.hasOwn(users.fields, name) ? users.fields[name] : undefined

const words = (name: string): string => name.replaceAll('_', ' ')

/**
 * Returns the fields after changes, of which null removes one. Throws 422 with a key such as `fields.team` for a field that is
 * unknown, invalid, or not for this writer to change.
 */
export function changedFields(config: FieldConfig, before: Fields, given: Fields, by: FieldWriter): Fields {
  const errors: Record<string, string[]> = {}
  const after: Record<string, unknown> = { ...before }
  for (const [name, typed] of Object.entries(given)) {
    const value = typeof typed === 'string' ? typed.trim() : typed
    const declared = declaredField(config, name)
    const isSame = declared !== undefined && JSON.stringify(before[name]) === JSON.stringify(value)
    // Clients that can read a value often send it back unchanged. Others get the refusal, which does not confirm a guess.
    const mayRead = by !== 'provider' && declared?.read.includes(by)
    if (isSame && (mayRead || declared.write.includes(by))) continue
    const refuse = (text: string) => {
      errors[`fields.${name}`] = [`The ${words(name)} field ${text}.`]
    }
    if (!declared) refuse('is unknown')
    else if (!declared.write.includes(by)) refuse('cannot be changed')
    else if (by === 'user' && declared.registration === 'required' && isMissing(value)) refuse('is required')
    else if (value === null || value === '') delete after[name]
    else if (!isValidField(declared, value)) refuse('is invalid')
    else after[name] = value
  }
  if (Object.keys(errors).length > 0) throw validationFailed(errors)
  return after
}

/** Tests for what does not answer a required field: nothing, a box that is not checked, or an empty list. */
const isMissing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  (Array.isArray(value) && value.length === 0)

/** The fields of a new user. Throws 422 like `changedFields`, and for a required one that is missing. */
export function registeredFields(config: FieldConfig, given: Fields | null | undefined): Fields {
  // Fields that registration does not ask for are for the profile.
  const asked = Object.entries(config.users.fields).filter(([, { registration }]) => registration !== null)
  const missing = asked.filter(([name, { registration }]) => {
    const value = given?.[name]
    return registration === 'required' && isMissing(value)
  })
  if (missing.length > 0) {
    const errors: FieldErrors = Object.fromEntries(
      missing.map(([name]) => [`fields.${name}`, [`The ${words(name)} field is required.`]]),
    )
    throw validationFailed(errors)
  }
  return changedFields(config, {}, given ?? {}, 'user')
}

/**
 * The fields after what a provider sent; it cannot make a sign-in fail. svc keeps a value where the new one is invalid, and null
 * removes it.
 */
export function providedFields(config: FieldConfig, before: Fields, given: Fields): Fields {
  const after: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(given)) {
    const declared = declaredField(config, name)
    if (!declared?.write.includes('provider')) continue
    if (value === null) delete after[name]
    else if (isValidField(declared, value)) after[name] = value
  }
  return after
}

/** A value of a field that a search asks for. */
export interface FieldFilter {
  name: string
  value: string
}

/** Reads a filter such as `team:Sales`. Throws 422 for a field that administrators cannot read. */
export function fieldFilter(config: FieldConfig, text: string): FieldFilter {
  const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(text) ?? []
  if (declaredField(config, name)?.read.includes('admin')) return { name, value }
  throw validationFailed({ field: ['The field must be one of users.fields, a colon and a value, such as team:Sales.'] })
}

/** The fields that a reader may see: those that the configuration declares, and null for one without a value. */
export const seenFields = (config: FieldConfig, fields: Fields | undefined, by: Declared['read'][number]): Fields =>
  Object.fromEntries(
    Object.entries(config.users.fields)
      .filter(([, { read }]) => read.includes(by))
      .map(([name]) => [name, fields?.[name] ?? null]),
  )

/** The claims of the fields that have a value, for these scopes. */
export const fieldClaims = (
  config: FieldConfig,
  fields: Fields | undefined,
  scopes: readonly string[],
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(config.users.fields).flatMap(([name, { claim, scope }]) => {
      const value = fields?.[name]
      return claim === null || value === undefined || !scopes.includes(scope) ? [] : [[claim, value]]
    }),
  )
