import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'

/** The JSON body `""` that clients of this contract get where there is nothing to say. */
export const EmptyAnswer = Type.Unsafe<''>({ type: 'string', const: '', description: 'Done: an empty string.' })

/** Answers the status with the JSON body `""`. */
export const sendEmpty = (reply: FastifyReply, status: 200 | 201): FastifyReply =>
  reply.code(status).type('application/json; charset=utf-8').serializer(JSON.stringify).send('')
