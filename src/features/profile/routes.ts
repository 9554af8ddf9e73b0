import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { sendRenewed } from '../../auth/sign-in/sign-in.ts'
import { EmptyAnswer, sendEmpty } from '../../platform/http/empty-answer.ts'
import { MessageAnswer } from '../../platform/http/message.ts'
import { changePassword, changeProfile, deleteAccount, PasswordBody, ProfileBody } from './changes.ts'

const own = { access: { family: 'session', caller: 'required' } } as const

/** Changes that users make to their own accounts. */
const profile: FastifyPluginAsyncTypebox = async (app) => {
  app.put(
    '/user/profile-information',
    {
      config: { ...own, unverified: 'allowed', alsoAnswers: [423] },
      schema: {
        operationId: 'updateProfile',
        tags: ['Account'],
        summary: 'Change name and address',
        description:
          'A new address requires a recently confirmed password (423) and counts as a mail. It stays `pending_email` until verified by the mailed link. It takes effect immediately if the old address was never verified, or with `registration.email_change: immediate`. svc notifies the old address.',
        body: ProfileBody,
        response: { 200: EmptyAnswer },
      },
    },
    async (request, reply) => {
      await changeProfile(request, reply, request.body)
      return sendEmpty(reply, 200)
    },
  )

  app.put(
    '/user/password',
    {
      config: { ...own },
      schema: {
        operationId: 'updatePassword',
        tags: ['Account'],
        summary: 'Change the password',
        description:
          "Ends the user's other sessions and remembered browsers. This one continues with a new session id and remember-me cookie. svc mails a notice.",
        body: PasswordBody,
        response: { 200: EmptyAnswer },
      },
    },
    async (request, reply) => {
      const renewed = await changePassword(request, request.body)
      await sendRenewed(request, reply, renewed)
      return sendEmpty(reply, 200)
    },
  )

  app.delete(
    '/user',
    {
      config: { ...own, unverified: 'allowed', recentPassword: () => true },
      schema: {
        operationId: 'deleteUser',
        tags: ['Account'],
        summary: 'Delete the account and all its data',
        description:
          'Requires a recently confirmed password (423). Ends all sessions, revokes all tokens and grants, signs this browser out and mails a notice. Cannot be undone.',
        response: { 200: MessageAnswer },
      },
    },
    async (request, reply) => {
      await deleteAccount(request, reply)
      return { message: 'Your account has been deleted.' }
    },
  )
}

export default profile
