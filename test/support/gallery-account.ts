import type { FastifyReply } from 'fastify'
import { confirmButtons } from '../../src/features/social/buttons.ts'
import type { AccountPageData } from '../../src/pages/account-page-data.ts'
import { textsOf } from '../../src/pages/texts.ts'
import { accessStates } from './gallery-access.ts'
import { inAccount } from './gallery-menu.ts'
import { hostile, long, passkeyStepUp } from './gallery-parts.ts'
import { securityStates } from './gallery-security.ts'

const profile: AccountPageData['account-profile'] = {
  action: '/account/profile',
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  pendingEmail: null,
  isVerified: true,
  emailHref: '/account/profile/email',
  verifyHref: '/oauth/verify-email',
  fields: [
    {
      ...{ name: 'fields.plan', label: 'Plan', kind: 'text', value: 'gold', options: [], hint: null },
      ...{ autocomplete: 'off', maxLength: 255, isRequired: false, isReadOnly: true },
    },
  ],
  username: 'ada',
  groups: [
    { name: 'wiki-editors', description: 'May edit the wiki' },
    { name: 'on-call', description: null },
  ],
  errors: {},
}
const password: AccountPageData['account-password'] = {
  action: '/account/password',
  hasPassword: true,
  forgotHref: '/oauth/forgot-password',
  minLength: 8,
  email: 'ada@example.com',
  revokeTokens: false,
  errors: {},
}
const confirm: AccountPageData['account-confirm'] = {
  action: '/account/confirm',
  returnTo: '/account/data/delete',
  hasPassword: true,
  sent: false,
  codeAction: '/account/confirm/code',
  email: 'ada@example.com',
  errors: {},
  parts: [],
}
const deletion: AccountPageData['account-delete'] = {
  action: '/account/data/delete',
  email: 'ada@example.com',
  errors: {},
  backHref: '/account/data',
}
const passkey = [{ ...passkeyStepUp.part, data: { ...passkeyStepUp.part.data, code: true } }]

const user = { name: 'Ada Lovelace', email: 'ada@example.com' }
const states = {
  profile: { text: 'Not verified', isOpen: true },
  'two-factor': { text: 'Off', isOpen: true },
  passkeys: { text: '2', isOpen: false },
  sessions: { text: '3', isOpen: false },
}

/** The account pages in each of their states. */
export const accountStates: Readonly<Record<string, (reply: FastifyReply) => FastifyReply>> = {
  account: (reply) => inAccount(reply, 'account', { user, states }),
  'account-hostile': (reply) =>
    inAccount(
      reply,
      'account',
      { user: { name: hostile + long, email: long }, states: { profile: { text: hostile + long, isOpen: true } } },
      { notice: hostile + long, words: hostile + long },
    ),
  'account-confirm': (reply) => reply.page('account-confirm', confirm),
  'account-confirm-passkey': (reply) => reply.page('account-confirm', { ...confirm, parts: passkey }),
  'account-confirm-failed': (reply) =>
    reply.page('account-confirm', { ...confirm, errors: { password: ['The provided password was incorrect.'] } }),
  'account-confirm-code': (reply) => reply.page('account-confirm', { ...confirm, hasPassword: false }),
  'account-confirm-provider': (reply) =>
    reply.page('account-confirm', {
      ...confirm,
      hasPassword: false,
      errors: { provider: [textsOf(reply.request)('account-confirm.not_confirmed')] },
      parts: [
        confirmButtons([
          { id: 'google', label: 'Google' },
          { id: 'acme', label: 'Acme & Söhne' },
        ]),
      ],
    }),
  'account-confirm-sent': (reply) => reply.page('account-confirm', { ...confirm, hasPassword: false, sent: true }),
  'account-confirm-hostile': (reply) =>
    reply.page('account-confirm', {
      action: hostile,
      returnTo: hostile,
      hasPassword: false,
      sent: true,
      codeAction: hostile,
      email: hostile + long,
      errors: { code: [hostile + long] },
      parts: passkey,
    }),
  'account-profile': (reply) => inAccount(reply, 'account-profile', profile),
  'account-profile-saved': (reply) =>
    inAccount(reply, 'account-profile', profile, { notice: textsOf(reply.request)('account.done_saved') }),
  'account-profile-pending': (reply) =>
    inAccount(reply, 'account-profile', { ...profile, pendingEmail: 'ada@example.org', isVerified: false }),
  'account-profile-hostile': (reply) =>
    inAccount(reply, 'account-profile', {
      action: hostile,
      name: hostile + long,
      email: hostile + long,
      pendingEmail: hostile + long,
      isVerified: false,
      emailHref: hostile,
      verifyHref: hostile,
      fields: [],
      username: 'ada',
      groups: [
        { name: 'wiki-editors', description: 'May edit the wiki' },
        { name: 'on-call', description: null },
      ],
      errors: { name: [hostile + long] },
    }),
  'account-email': (reply) =>
    inAccount(reply, 'account-email', { action: '/account/profile/email', email: '', errors: {}, backHref: '/x' }),
  'account-email-hostile': (reply) =>
    inAccount(reply, 'account-email', {
      action: hostile,
      email: hostile + long,
      errors: { email: [hostile] },
      backHref: hostile,
    }),
  'account-password': (reply) => inAccount(reply, 'account-password', password),
  'account-password-none': (reply) => inAccount(reply, 'account-password', { ...password, hasPassword: false }),
  'account-password-hostile': (reply) =>
    inAccount(reply, 'account-password', {
      ...password,
      action: hostile,
      email: hostile,
      forgotHref: hostile,
      errors: { password: [hostile + long], current_password: [hostile] },
    }),
  'account-data': (reply) =>
    inAccount(reply, 'account-data', { exportHref: '/account/data/export', deleteHref: '/account/data/delete' }),
  'account-data-hostile': (reply) => inAccount(reply, 'account-data', { exportHref: hostile, deleteHref: hostile }),
  'account-delete': (reply) => inAccount(reply, 'account-delete', deletion),
  'account-delete-failed': (reply) => {
    const errors = { email: [textsOf(reply.request)('account-delete.mismatch')] }
    return inAccount(reply, 'account-delete', { ...deletion, errors })
  },
  'account-delete-hostile': (reply) =>
    inAccount(reply, 'account-delete', {
      action: hostile,
      email: hostile + long,
      errors: { email: [hostile + long] },
      backHref: hostile,
    }),
  ...accessStates,
  ...securityStates,
}
