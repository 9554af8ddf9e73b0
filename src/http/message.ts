import { Type } from 'typebox'

/** A response that only says what happened. */
export const MessageAnswer = Type.Object(
  { message: Type.String({ description: 'A sentence for people.' }) },
  { title: 'Message', examples: [{ message: 'Token revoked.' }] },
)
