import { Type } from '../json-schema.ts'
import { sharedResponse } from './description/shared-responses.ts'

/** A response with only a message. */
export const MessageAnswer = sharedResponse({
  name: 'Message',
  description: 'Done.',
  schema: Type.Object(
    { message: Type.String({ description: 'A message for people. Its wording may change.' }) },
    { title: 'Message', examples: [{ message: 'Token revoked.' }] },
  ),
})
