import type { Config } from '../platform/config/schema.ts'
import { typedText } from '../platform/http/fields.ts'
import type { TextName } from './texts.ts'

/** A field of a form that the configuration adds. */
export interface FormField {
  name: string
  label: string
  value: string
  hint: string | null
  /** Value of the attribute `autocomplete`. */
  autocomplete: string
  maxLength: number
}

type Values = Readonly<Record<string, unknown>>

/** The fields of a form for the names of a user, besides the full name. */
export function nameFormFields(
  { users }: Pick<Config, 'users'>,
  text: (name: TextName) => string,
  values: Values,
  { asksUsername }: { asksUsername: boolean },
): FormField[] {
  const field = (name: string, label: TextName, hint: TextName, autocomplete: string, maxLength: number) => ({
    ...{ name, label: text(label), value: typedText(values[name]), hint: text(hint), autocomplete, maxLength },
  })
  return [
    ...(users.name_parts
      ? [
          field('given_name', 'fields.given_name', 'fields.optional', 'given-name', 255),
          field('family_name', 'fields.family_name', 'fields.optional', 'family-name', 255),
        ]
      : []),
    ...(asksUsername ? [field('username', 'fields.username', 'fields.username_hint', 'nickname', 63)] : []),
  ]
}
