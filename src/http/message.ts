import { Type } from '../json-schema.ts'
import { sharedResponse } from './description/shared-responses.ts'

/** A response that only says what happened. */
export const MessageAnswer = sharedResponse({
  name: 'Message',
  description: 'Done.',
  schema: Type.Object(
    { message: Type.String({ description: 'A sentence for people.' }) },
    { title: 'Message', examples: [{ message: 'Token revoked.' }] },
  ),
})
