import { Ajv, type ErrorObject, type SchemaValidateFunction, type ValidateFunction } from 'ajv'
import type { FastifyInstance } from 'fastify'
import { type FieldErrors, notFound, validationFailed } from '../errors.ts'
import { Type } from '../json-schema.ts'
import { apiRequired, apiSchema } from './description/described-schemas.ts'
import { isFlag } from './flag.ts'
import { isDate, isEmail, isName } from './formats.ts'
import { newPasswordErrors } from './new-password.ts'

/** Field name for messages: underscores become spaces. */
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

/** Message for one violation, after `The … field `. */
function text({ keyword, params, data }: ErrorObject): string {
  if (keyword === 'required' || data === null || data === '') return 'is required'
  if (keyword === flag) return typeTexts.boolean as string
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

/** Laravel's messages for validation errors. A missing field reports only that. */
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

/** Name of a person or thing: one line without control characters. */
export const nameField = { minLength: 1, maxLength: 255, format: 'name' } as const

/** Keyword for an option that is on or off. Forms send it as a text. */
export const flag = 'x-flag'

/** Fields that a body requires if it has `field`; null for any other body. */
interface RequiredFields {
  field: string | null
  required: readonly string[]
}

/** Keyword for a body whose required fields depend on another: the first entry that applies decides. */
export const requiredFields = 'x-required-fields'

const hasValue = (body: Record<string, unknown>, name: string) => body[name] !== undefined && body[name] !== null

/** Keyword for a new password. Its errors are whole sentences. */
const newPassword = 'x-new-password'

/** A new password, with `password_confirmation` as a second field. */
export const NewPassword = Type.Unsafe<string>({
  type: 'string',
  minLength: 1,
  [newPassword]: true,
  description: 'The new password. It must match `password_confirmation` and meet the configured rules.',
})

/** Repeats a new password. An error about it is an error of the password. */
export const PasswordConfirmation = Type.Optional(
  Type.Unknown({ description: 'The new password again.', [apiSchema]: { type: 'string' }, [apiRequired]: true }),
)

/** Validates bodies with ajv: reports all errors, drops undeclared fields, coerces nothing. */
export function addValidation(app: FastifyInstance): void {
  const ajv = new Ajv({
    allErrors: true,
    removeAdditional: true,
    useDefaults: true,
    verbose: true,
    strict: false,
    // The schemas are typed, so checking them against the meta-schema would only cost time.
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
  const checkRequired: SchemaValidateFunction = (choices: RequiredFields[], body: Record<string, unknown>) => {
    const choice = choices.find(({ field }) => field === null || hasValue(body, field))
    const missing = (choice?.required ?? []).filter((name) => !hasValue(body, name))
    checkRequired.errors = missing.map((name) => ({ keyword: 'required', params: { missingProperty: name } }))
    return missing.length === 0
  }
  ajv.addKeyword({ keyword: requiredFields, type: 'object', validate: checkRequired })
  ajv.addKeyword({ keyword: flag, validate: (_rule: unknown, value: unknown) => isFlag(value) })
  ajv.addKeyword({ keyword: newPassword, type: 'string', validate: checkNewPassword })
  app.setValidatorCompiler(({ schema, httpPart }) => {
    // Compiling all schemas would dominate the start, so each is compiled on first use.
    let validate: ValidateFunction | undefined
    return (data: unknown) => {
      validate ??= ajv.compile(schema)
      if (validate(data)) return { value: data }
      // Invalid path parameters cannot name a resource, so they get 404.
      return { error: httpPart === 'params' ? notFound() : validationFailed(textsOf(validate.errors ?? [])) }
    }
  })
}
