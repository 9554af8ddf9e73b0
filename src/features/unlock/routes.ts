import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { eventContext, visitOf } from '../../auth/access/visit.ts'
import { rememberBrowser } from '../../auth/sign-in/known-browser.ts'
import { unlockedUser, unlockPath, useUnlock } from '../../auth/sign-in/unlock.ts'
import { recordEvents } from '../../identity/events.ts'
import { continuing } from '../../pages/after-form.ts'
import { signInPage, startPage } from '../../pages/links.ts'
import { addPages, pageAnswers } from '../../pages/pages.ts'
import { textsOf } from '../../pages/texts.ts'
import { idParameter } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'

const access = { family: 'session', caller: 'guest' } as const
const params = Type.Object({ id: idParameter('The id of the user.', '^[1-9][0-9]{0,14}$') })
const querystring = Type.Object({
  expires: Type.Optional(Type.String({ description: 'When the link expires, in Unix milliseconds.' })),
  signature: Type.Optional(Type.String({ description: 'The signature of the link.' })),
})
const refused = pageAnswers.refused

/** The page of the mailed link that unlocks an account. */
const unlock: FastifyPluginAsyncTypebox = async (app) => {
  await addPages(app)

  function refuse(reply: FastifyReply): FastifyReply {
    const config = app.config.current()
    const text = textsOf(reply.request)
    const words = { heading: text('unlock.invalid'), texts: [text('unlock.invalid_text')] }
    return reply.page('error', { ...words, homeHref: startPage(config) }, 403)
  }

  app.get(
    unlockPath,
    {
      config: { access },
      schema: {
        operationId: 'showUnlock',
        tags: ['Pages'],
        summary: 'Page: unlock an account with the link in a mail',
        description: 'Changes nothing: mail scanners follow links too. The button of the page unlocks.',
        params,
        querystring,
        response: { 200: pageAnswers.page, 403: refused },
      },
    },
    async (request, reply) => {
      const { expires = '', signature = '' } = request.query
      const link = { id: request.params.id, expires, signature }
      if (!(await unlockedUser(app, link))) return refuse(reply)
      const query = new URLSearchParams({ expires, signature })
      return reply.page('unlock', { action: `${unlockPath.replace(':id', link.id)}?${query}` })
    },
  )

  app.post(
    unlockPath,
    {
      config: { access },
      schema: {
        operationId: 'unlockAccount',
        tags: ['Pages'],
        summary: 'Form: unlock the sign-in of an account',
        description: 'Forgets the failures of the account and makes this browser a known one. A link works once.',
        params,
        querystring,
        response: { 200: continuing, 303: Type.Null({ description: 'To sign in.' }), 403: refused },
      },
    },
    async (request, reply) => {
      const { expires = '', signature = '' } = request.query
      const link = { id: request.params.id, expires, signature }
      const found = await unlockedUser(app, link)
      if (!found || !(await useUnlock(app, link))) return refuse(reply)
      await app.loginLimiter.unlock(visitOf(request), found.user.email)
      rememberBrowser(request, reply, found)
      const event = { type: 'account_unlocked', userId: found.user.id } as const
      await recordEvents(app.database, eventContext(request), event)
      return reply.redirect(signInPage(app.config.current(), '/'), 303)
    },
  )
}

export default unlock
