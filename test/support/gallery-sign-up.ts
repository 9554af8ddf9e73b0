import type { FastifyReply } from 'fastify'
import type { PageData } from '../../src/pages/page-data.ts'
import { hostile, invitationParts, long } from './gallery-parts.ts'

const codeRequest: PageData['email-code-request'] = {
  action: '/oauth/email-code',
  returnTo: null,
  email: '',
  remember: false,
  errors: {},
  loginHref: '/oauth/login',
}
const emailCode: PageData['email-code'] = {
  action: '/oauth/email-code/verify',
  email: 'ada@example.com',
  code: '',
  errors: {},
  again: { action: '/oauth/email-code', returnTo: '/x', remember: true },
  requestHref: '/oauth/email-code',
}

const invitation: PageData['invitation'] = {
  action: '/oauth/invitation/token',
  token: 'token',
  email: 'ada@example.com',
  name: 'Ada Lovelace',
  signedInAs: null,
  errors: {},
  alert: null,
  minLength: 8,
  parts: [],
}

/** The pages of invitations and of sign-in by mailed code. */
export const signUpStates: Readonly<Record<string, (reply: FastifyReply) => FastifyReply>> = {
  invitation: (reply) => reply.page('invitation', { ...invitation, parts: invitationParts }),
  'invitation-signed-in': (reply) =>
    reply.page('invitation', { ...invitation, signedInAs: 'ada@elsewhere.example', parts: invitationParts }),
  'invitation-provider-failed': (reply) =>
    reply.page('invitation', { ...invitation, alert: 'invitation.provider_taken', parts: invitationParts }),
  'invitation-failed': (reply) =>
    reply.page('invitation', { ...invitation, name: '', errors: { name: ['The name field is required.'] } }),
  'invitation-hostile': (reply) =>
    reply.page('invitation', {
      ...{ action: hostile, token: hostile, email: hostile + long, name: hostile + long, minLength: 8 },
      ...{ signedInAs: hostile + long, alert: null },
      errors: { name: [hostile], password: [hostile + long] },
      parts: invitationParts,
    }),
  'email-code-request': (reply) => reply.page('email-code-request', codeRequest),
  'email-code-request-hostile': (reply) =>
    reply.page('email-code-request', {
      ...codeRequest,
      action: hostile,
      returnTo: hostile,
      email: hostile + long,
      errors: { email: [hostile], code: [hostile + long] },
      loginHref: hostile,
    }),
  'email-code': (reply) => reply.page('email-code', emailCode),
  'email-code-link': (reply) => reply.page('email-code', { ...emailCode, code: '123456' }),
  'email-code-failed': (reply) =>
    reply.page('email-code', { ...emailCode, errors: { code: ['The provided code was incorrect or has expired.'] } }),
  'email-code-hostile': (reply) =>
    reply.page('email-code', {
      ...emailCode,
      action: hostile,
      email: hostile + long,
      code: hostile,
      errors: { email: [hostile], code: [hostile + long] },
      again: { action: hostile, returnTo: hostile, remember: true },
      requestHref: hostile,
    }),
}
