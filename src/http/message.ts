import { Type } from '../json-schema.ts'
import { sharedResponse } from './description/shared-responses.ts'

/** A response with only a message. */
export const MessageAnswer = sharedResponse({
  name: 'Message',
  description: 'Done.',
  schema: Type.Object(
    { message: Type.String({ description: 'A sentence for people.' }) },
    { title: 'Message', examples: [{ message: 'Token revoked.' }] },
  ),
})
