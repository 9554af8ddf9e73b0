import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { callerOf } from '../../../access/caller.ts'
import { forbidden, notFound, validationFailed } from '../../../errors.ts'
import { MessageAnswer } from '../../../http/message.ts'
import { requireStillSignedIn } from '../../../login/still-signed-in.ts'
import { eventContext, recordEvent } from '../../../users/events.ts'
import { notify } from '../../../users/notices.ts'
import type { User } from '../../../users/user.ts'
import { hasWayIn } from '../../../users/ways-in.ts'
import { type FlowRequest, returnOf } from '../flow-request.ts'
import { reportFailure } from '../log-failure.ts'
import { findProvider, type SocialProvider } from '../provider.ts'
import { BeginBody, LinkParams, SocialAccountRecord, UnlinkParams, UrlAnswer } from '../schemas.ts'
import { deleteLink, listLinks } from '../store.ts'

interface LinkOptions {
  providerOf: (id: string) => SocialProvider
  /** Starts a flow and returns the URL for the browser. */
  begin: (
    request: FastifyRequest,
    reply: FastifyReply,
    provider: SocialProvider,
    flowRequest: FlowRequest,
  ) => Promise<string>
}

const session = { access: { family: 'session', caller: 'required' } } as const

const lastWayIn = 'This account is the only way in. Set a password or add another way to sign in first.'

function userOf(request: FastifyRequest): User {
  const { user } = callerOf(request)
  if (!user) throw forbidden()
  return user
}

/** Management of the user's linked provider accounts. */
const links: FastifyPluginAsyncTypebox<LinkOptions> = async (app, { begin, providerOf }) => {
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
        isAnew: false,
        deviceName: null,
        returnTo,
        session,
      } as const
      try {
        return { url: await begin(request, reply, provider, flowRequest) }
      } catch (error) {
        throw await reportFailure(request, provider, error, { isRecorded: false })
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
      const user = userOf(request)
      const link = { id: BigInt(request.params.id), userId: user.id }
      const config = app.config.current()
      await app.database.transaction(async (tx) => {
        await requireStillSignedIn(tx, request)
        const provider = await deleteLink(tx, link)
        if (provider === null) throw notFound()
        if (!(await hasWayIn(app, tx, user.id))) {
          throw validationFailed({ social_account: [lastWayIn] })
        }
        const origin = eventContext(request)
        await recordEvent(tx, origin, { type: 'social_unlinked', userId: user.id, data: { provider } })
        const label = findProvider(config, provider)?.label ?? provider
        await notify(app, tx, origin, user, 'social_unlinked', { provider: label })
      })
      return { message: 'The account was unlinked.' }
    },
  )
}

export default links
