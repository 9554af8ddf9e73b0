import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../../auth/access/caller.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import type { User } from '../../../identity/user.ts'
import { forbidden, notFound } from '../../../platform/errors.ts'
import { MessageAnswer } from '../../../platform/http/message.ts'
import { Type } from '../../../platform/json-schema.ts'
import { returnOf } from '../flow-request.ts'
import { reportFailure } from '../log-failure.ts'
import { BeginBody, LinkParams, SocialAccountRecord, UnlinkParams, UrlAnswer } from '../schemas.ts'
import { listLinks } from '../store.ts'
import { unlink } from '../unlink.ts'
import type { LinkOptions } from './options.ts'
import linkPages from './page-routes.ts'

const session = { access: { family: 'session', caller: 'required' } } as const

function userOf(request: FastifyRequest): User {
  const { user } = callerOf(request)
  if (!user) throw forbidden()
  return user
}

/** Management of the user's linked provider accounts. */
const links: FastifyPluginAsyncTypebox<LinkOptions> = async (app, { begin, providerOf }) => {
  await app.register(linkPages, { begin, providerOf })

  app.get(
    '/user/social-accounts',
    {
      config: session,
      schema: {
        operationId: 'listSocialAccounts',
        tags: ['Social login'],
        summary: 'List your linked provider accounts',
        description: 'Accounts that the user can sign in with, as of their last use.',
        response: { 200: Type.Array(SocialAccountRecord) },
      },
    },
    async (request) => listLinks(app.database, userOf(request).id),
  )

  app.post(
    '/user/social-accounts/:id',
    {
      // An attacker at an unlocked browser must not be able to add a sign-in method.
      config: { ...session, recentPassword: () => true, alsoAnswers: [400, 404] },
      schema: {
        operationId: 'linkSocialAccount',
        tags: ['Social login'],
        summary: 'Start linking a provider account',
        description:
          'Requires a recently confirmed password (423). Redirect the browser to the returned URL. The callback links the account and mails a notice.',
        params: LinkParams,
        body: BeginBody,
        response: { 200: UrlAnswer },
      },
    },
    async (request, reply) => {
      const provider = providerOf(request.params.id)
      if (!provider.config.link) throw notFound()
      const returnTo = returnOf(request.body.return_to)
      const { credentialId } = callerOf(request)
      const session = credentialId
      const flowRequest = {
        intent: 'link',
        mode: 'browser',
        isReauthentication: false,
        deviceName: null,
        returnTo,
        session,
      } as const
      try {
        return { url: await begin(request, reply, provider, flowRequest) }
      } catch (error) {
        throw await reportFailure(visitOf(request), provider, error, { isRecorded: false })
      }
    },
  )

  app.delete(
    '/user/social-accounts/:id',
    {
      // An attacker at an unlocked browser must not be able to lock the owner out.
      config: { ...session, recentPassword: () => true, alsoAnswers: [422] },
      schema: {
        operationId: 'unlinkSocialAccount',
        tags: ['Social login'],
        summary: 'Unlink a provider account',
        description:
          'Requires a recently confirmed password (423). The last sign-in method cannot be removed (422). svc mails a notice.',
        params: UnlinkParams,
        response: { 200: MessageAnswer },
      },
    },
    async (request) => {
      userOf(request)
      await unlink(visitOf(request), BigInt(request.params.id))
      return { message: 'The account was unlinked.' }
    },
  )
}

export default links
