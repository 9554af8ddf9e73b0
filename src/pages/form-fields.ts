import type { Config } from '../platform/config/schema.ts'
import { typedText } from '../platform/http/fields.ts'
import { isSet } from '../platform/http/flag.ts'
import type { Language } from '../platform/languages/languages.ts'
import type { TextName } from './texts.ts'

/** A field of a form that the configuration adds. */
export interface FormField {
  /** Also the key of its errors. */
  name: string
  label: string
  kind: 'text' | 'number' | 'checkbox' | 'select'
  /** `1` for a checkbox that is checked. */
  value: string
  /** What to choose from, for a select. */
  options: readonly { value: string; label: string }[]
  hint: string | null
  /** Value of the attribute `autocomplete`. */
  autocomplete: string
  maxLength: number
  isRequired: boolean
  /** Whether the user may only read it. */
  isReadOnly: boolean
}

/** Values of fields, by name. */
type Fields = Readonly<Record<string, unknown>>

type FormConfig = Pick<Config, 'users' | 'i18n'>
type Declared = Config['users']['fields'][string]

/** Which of the fields in `users.fields` a form has. */
export type AskedFields = 'registration' | 'profile'

/** The names of these fields in a form, as a pattern. */
export const fieldInForm = '^fields\\.[a-z][a-z0-9_]*$'

const askedFields = ({ users }: Pick<Config, 'users'>, asked: AskedFields): [name: string, declared: Declared][] =>
  Object.entries(users.fields).filter(([, { registration, read }]) =>
    asked === 'registration' ? registration !== null : read.includes('user'),
  )

/** The text of a value in a form. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value === 'boolean') return value ? '1' : ''
  return value === undefined || value === null ? '' : String(value)
}

const kindOf = ({ schema }: Declared): FormField['kind'] => {
  if (schema.type === 'boolean') return 'checkbox'
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  return schema.type === 'string' && schema.enum !== null ? 'select' : 'text'
}

interface FormFacts {
  config: FormConfig
  language: Language
  text: (name: TextName) => string
  /** What the form shows: a user, or the form as it was sent. */
  values: Readonly<Record<string, unknown>>
  isSent: boolean
  /** The stored fields of the user; empty for a new one. */
  stored: Fields
  asked: AskedFields
  asksUsername: boolean
}

/** The fields of a form for a user that the configuration adds, besides the full name. */
export function userFormFields(facts: FormFacts): FormField[] {
  const { config, language, text, values, isSent, stored, asked, asksUsername } = facts
  const plain = { kind: 'text', options: [], isRequired: false, isReadOnly: false } as const
  const field = (name: string, label: TextName, hint: TextName, autocomplete: string, maxLength: number) => ({
    ...{
      ...plain,
      name,
      label: text(label),
      value: typedText(values[name]),
      hint: text(hint),
      autocomplete,
      maxLength,
    },
  })
  const own = askedFields(config, asked).map(([name, declared]): FormField => {
    const { label, schema, registration, write } = declared
    const key = `fields.${name}`
    const isRequired = registration === 'required'
    const isReadOnly = !write.includes('user')
    return {
      name: key,
      label: label[language] ?? label[config.i18n.default] ?? name.replaceAll('_', ' '),
      kind: kindOf(declared),
      value: isSent && !isReadOnly ? typedText(values[key]) : textOf(stored[name]),
      isReadOnly,
      options: (schema.enum ?? []).map((value) => ({ value, label: value })),
      hint: isRequired || isReadOnly || schema.type === 'boolean' ? null : text('fields.optional'),
      autocomplete: 'off',
      // An array is one text with commas.
      maxLength: schema.type === 'string' ? (schema.maxLength ?? 1_000) : 10_000,
      isRequired,
    }
  })
  return [
    ...(config.users.name_parts
      ? [
          field('given_name', 'fields.given_name', 'fields.optional', 'given-name', 255),
          field('family_name', 'fields.family_name', 'fields.optional', 'family-name', 255),
        ]
      : []),
    ...(asksUsername ? [field('username', 'fields.username', 'fields.username_hint', 'nickname', 63)] : []),
    ...own,
  ]
}

/** The value of a field as its type, from the text of a form. A text that does not fit stays, so that it is refused. */
function typedValue({ schema }: Declared, typed: unknown): unknown {
  if (schema.type === 'boolean') return isSet(typed)
  const text = typedText(typed).trim()
  if (text === '') return null
  if (schema.type === 'integer' || schema.type === 'number') return Number.isNaN(Number(text)) ? text : Number(text)
  if (schema.type !== 'array') return text
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** The fields of `users.fields` that a form sent. */
export const fieldsOfForm = (
  config: Pick<Config, 'users'>,
  form: Readonly<Record<string, unknown>>,
  asked: AskedFields,
): Fields =>
  Object.fromEntries(
    askedFields(config, asked)
      .filter(([, { write }]) => write.includes('user'))
      .map(([name, declared]) => [name, typedValue(declared, form[`fields.${name}`])]),
  )
