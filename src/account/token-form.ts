import type { FastifyReply } from 'fastify'
import { type FieldErrors, HttpError } from '../errors.ts'
import { uncheckedText, uncheckedTexts } from '../http/fields.ts'
import { type Static, Type } from '../json-schema.ts'

/** The form that creates a token. */
export const TokenForm = Type.Object(
  {
    name: uncheckedText('A name that the user recognizes.'),
    abilities: uncheckedTexts('The chosen abilities or scopes.'),
    lifetime: uncheckedText('Days until the token expires; empty for the maximum.', ['string', 'null']),
  },
  { title: 'TokenForm', additionalProperties: false },
)

export type TypedToken = Static<typeof TokenForm>

/** Texts of a field that a form sends once or several times. */
export const textList = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string')

/**
 * Creates a token and shows it. The page is the response to the form, so that the token is in no URL, cookie or row.
 * Shows the form again if its fields are invalid.
 */
export async function showToken(
  reply: FastifyReply,
  {
    backHref,
    create,
    show,
  }: {
    backHref: string
    create: () => Promise<{ name: string; token: string }>
    show: (errors: FieldErrors, status: number) => FastifyReply
  },
): Promise<void> {
  try {
    reply.page('account-token', { ...(await create()), backHref })
  } catch (error) {
    if (!(error instanceof HttpError) || !error.errors) throw error
    show(error.errors, error.statusCode)
  }
  // Resolves when the response is sent.
  await reply
}
