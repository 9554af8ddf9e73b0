import type { FastifyInstance } from 'fastify'
import { translateMessage } from '../languages/api-messages.ts'
import { languageOf } from './language.ts'
import { textsOf } from './texts.ts'
import { varyBy } from './vary.ts'

/** Translates the `message` of successful JSON responses with `i18n.api`. `status` stays in English, for programs. */
export function addTranslatedMessages(app: FastifyInstance): void {
  app.addHook('preSerialization', (request, reply, payload, done) => {
    const isTranslated = app.config.current().i18n.api && reply.statusCode < 400
    if (!isTranslated || !hasMessage(payload)) return done(null, payload)
    varyBy(reply, 'Accept-Language').header('content-language', languageOf(request))
    done(null, { ...payload, message: translateMessage(payload.message, textsOf(request)) })
  })
}

const hasMessage = (payload: unknown): payload is { message: string } =>
  typeof payload === 'object' && payload !== null && 'message' in payload && typeof payload.message === 'string'
