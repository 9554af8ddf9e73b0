import type { FastifyReply } from 'fastify'
import { Type } from '../json-schema.ts'
import { sharedResponse } from './description/shared-responses.ts'

/** The JSON body `""`, which Laravel clients expect from responses without content. */
export const EmptyAnswer = sharedResponse({
  name: 'Empty',
  description: 'Done: an empty string.',
  schema: Type.Unsafe<''>({ type: 'string', maxLength: 0 }),
})

/** Sends the status with the JSON body `""`. */
export const sendEmpty = (reply: FastifyReply, status: 200 | 201): FastifyReply =>
  reply.code(status).type('application/json; charset=utf-8').serializer(JSON.stringify).send('')
