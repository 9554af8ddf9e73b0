import { Ajv, type ErrorObject, type SchemaValidateFunction, type ValidateFunction } from 'ajv'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { type FieldErrors, notFound, validationFailed } from '../errors.ts'
import { isDate, isEmail, isName } from './formats.ts'
import { newPasswordErrors } from './new-password.ts'

/** A field as the texts name it: underscores become spaces. */
export const displayName = (field: string): string => field.replaceAll('_', ' ')

const field = ({ instancePath, keyword, params }: ErrorObject): string => {
  const path = instancePath.slice(1).replaceAll('/', '.')
  return keyword === 'required' ? [path, params.missingProperty].filter(Boolean).join('.') : path
}

const typeTexts: Record<string, string> = {
  string: 'must be a string',
  array: 'must be an array',
  boolean: 'must be true or false',
  integer: 'must be an integer',
  number: 'must be a number',
  object: 'must be an array',
}

const formatTexts: Record<string, string> = {
  email: 'must be a valid email address',
  name: 'contains characters that are not allowed',
}

/** What one broken rule says, after `The … field `. */
function text({ keyword, params, data }: ErrorObject): string {
  if (keyword === 'required' || data === null || data === '') return 'is required'
  if (keyword === 'type') return typeTexts[[params.type].flat()[0]] ?? 'is invalid'
  if (keyword === 'format') return formatTexts[params.format] ?? 'must be a valid date'
  if (keyword === 'minLength') return `must be at least ${params.limit} characters`
  if (keyword === 'maxLength') return `must not be greater than ${params.limit} characters`
  if (keyword === 'maxItems') return `must not have more than ${params.limit} items`
  if (keyword === 'minItems') return `must have at least ${params.limit} items`
  if (keyword === 'minimum') return `must be at least ${params.limit}`
  if (keyword === 'maximum') return `must not be greater than ${params.limit}`
  return 'is invalid'
}

/** Laravel's texts for what a validator found; a field that is missing says only that. */
function textsOf(errors: readonly ErrorObject[]): FieldErrors {
  const texts: FieldErrors = {}
  for (const error of errors) {
    const name = field(error)
    const sentence =
      error.keyword === newPassword ? String(error.message) : `The ${displayName(name)} field ${text(error)}.`
    const known = texts[name]
    if (!known) texts[name] = [sentence]
    else if (!known.includes(sentence)) known.push(sentence)
  }
  return texts
}

/** The name of a person or a thing: one line without control characters. */
export const nameField = { minLength: 1, maxLength: 255, format: 'name' } as const

/** The keyword of a field that holds a new password: its errors are whole sentences. */
const newPassword = 'x-new-password'

/** A new password, confirmed by the field `password_confirmation` beside it. */
export const NewPassword = Type.Unsafe<string>({
  type: 'string',
  minLength: 1,
  [newPassword]: true,
  description: 'As long as the configuration asks, not one that leaks often, and repeated in `password_confirmation`.',
})

/** Validates bodies with ajv: every broken rule of every field, fields that are not declared dropped, nothing coerced. */
export function addValidation(app: FastifyInstance): void {
  const ajv = new Ajv({
    allErrors: true,
    removeAdditional: true,
    useDefaults: true,
    verbose: true,
    strict: false,
    // The schemas are our own and typed: checking them against the meta-schema takes as long as compiling them.
    validateSchema: false,
    meta: false,
  })
  ajv.addFormat('email', isEmail)
  ajv.addFormat('name', isName)
  ajv.addFormat('date', isDate)
  ajv.addFormat('date-time', true)
  const checkNewPassword: SchemaValidateFunction = (_rule, password: string, _schema, context) => {
    const { password_confirmation } = Object(context?.parentData)
    const texts = password === '' ? [] : newPasswordErrors(password, password_confirmation, app.config.current())
    checkNewPassword.errors = texts.map((message) => ({ keyword: newPassword, message }))
    return texts.length === 0
  }
  ajv.addKeyword({ keyword: newPassword, type: 'string', validate: checkNewPassword })
  app.setValidatorCompiler(({ schema, httpPart }) => {
    // Compiling every schema takes longer than the rest of the start, so each is compiled for its first request.
    let validate: ValidateFunction | undefined
    return (data: unknown) => {
      validate ??= ajv.compile(schema)
      if (validate(data)) return { value: data }
      // A path that no record can have is a path that does not exist.
      return { error: httpPart === 'params' ? notFound() : validationFailed(textsOf(validate.errors ?? [])) }
    }
  })
}
