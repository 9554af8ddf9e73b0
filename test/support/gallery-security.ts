import type { FastifyReply } from 'fastify'
import { renderSVG } from 'uqr'
import { adminFeature } from '../../src/features/admin/feature.ts'
import { passkeyFeature } from '../../src/features/passkeys/feature.ts'
import { termsFeature } from '../../src/features/terms/feature.ts'
import type { AccountPageData } from '../../src/pages/account-page-data.ts'
import { inAccount } from './gallery-menu.ts'
import { hostile, long } from './gallery-parts.ts'

const url = 'otpauth://totp/Acme:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Acme'
const twoFactor: AccountPageData['account-two-factor'] = {
  state: 'on',
  codesLeft: 8,
  returnTo: null,
  setupHref: '/account/two-factor/setup',
  codesHref: '/account/two-factor/recovery-codes',
  disableHref: '/account/two-factor/disable',
  browsers: [
    {
      action: '/account/two-factor/browsers/1/revoke',
      userAgent: 'Firefox on Linux',
      ipAddress: '203.0.113.5',
      usedAt: '2026-11-20T09:00:00.000000Z',
    },
    {
      action: '/account/two-factor/browsers/2/revoke',
      userAgent: null,
      ipAddress: null,
      usedAt: '2026-11-01T09:00:00.000000Z',
    },
  ],
}
const qrCode = renderSVG(url, { border: 2, pixelSize: 4 })
const setup: AccountPageData['account-two-factor-setup'] = {
  action: '/account/two-factor/setup',
  confirmAction: '/account/two-factor/confirm',
  setup: { qrCode, secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', url },
  returnTo: null,
  errors: {},
  backHref: '/account/two-factor',
}
const codes: AccountPageData['account-recovery-codes'] = {
  email: 'ada@example.com',
  codes: Array.from({ length: 8 }, (_, index) => `aB3dE${index}gH1j-K2mN4pQ${index}rS`),
  downloadAction: '/account/two-factor/recovery-codes/download',
  nextHref: '/account/two-factor',
}
const wrongCode = { code: ['The provided two factor authentication code was invalid.'] }

const passkey: AccountPageData['account-passkey']['passkey'] = {
  name: 'Chrome on Linux',
  href: '/account/passkeys/1',
  addedAt: '2026-05-01T09:00:00.000000Z',
  usedAt: '2026-05-02T18:30:00.000000Z',
  isSynced: true,
}
const hostilePasskey = { ...passkey, name: hostile + long, href: hostile }
const edit: AccountPageData['account-passkey'] = {
  passkey,
  name: passkey.name,
  renameAction: '/account/passkeys/1',
  removeAction: '/account/passkeys/1/remove',
  errors: {},
  backHref: '/account/passkeys',
}
const device: AccountPageData['account-sessions']['devices'][number] = {
  browser: 'Firefox on Windows',
  ipAddress: '2001:db8::8a2e:370:7334',
  usedAt: '2026-05-02T18:30:00.000000Z',
  state: 'signed_in',
  isBound: true,
  endAction: '/account/sessions/1/end',
}
const lastWayIn = 'This passkey is the only way into the account. Set a password or add another passkey first.'

/** The account pages about ways to sign in and devices, in each of their states. */
export const securityStates: Readonly<Record<string, (reply: FastifyReply) => FastifyReply>> = {
  'account-two-factor': (reply) => inAccount(reply, 'account-two-factor', twoFactor),
  'account-two-factor-low': (reply) => inAccount(reply, 'account-two-factor', { ...twoFactor, codesLeft: 1 }),
  'account-two-factor-off': (reply) => inAccount(reply, 'account-two-factor', { ...twoFactor, state: 'off' }),
  'account-two-factor-pending': (reply) => inAccount(reply, 'account-two-factor', { ...twoFactor, state: 'pending' }),
  'account-two-factor-required': (reply) =>
    inAccount(reply, 'account-two-factor', { ...twoFactor, state: 'off', returnTo: 'https://orders.example.com/' }),
  'account-two-factor-hostile': (reply) =>
    inAccount(reply, 'account-two-factor', {
      ...twoFactor,
      returnTo: hostile,
      setupHref: hostile,
      codesHref: hostile,
      disableHref: hostile,
    }),
  'account-two-factor-setup': (reply) => inAccount(reply, 'account-two-factor-setup', setup),
  'account-two-factor-setup-start': (reply) => inAccount(reply, 'account-two-factor-setup', { ...setup, setup: null }),
  'account-two-factor-setup-failed': (reply) =>
    inAccount(reply, 'account-two-factor-setup', { ...setup, errors: wrongCode }),
  'account-two-factor-setup-hostile': (reply) =>
    inAccount(reply, 'account-two-factor-setup', {
      action: hostile,
      confirmAction: hostile,
      setup: { qrCode, secret: hostile + long, url: hostile },
      returnTo: hostile,
      errors: { code: [hostile + long] },
      backHref: hostile,
    }),
  'account-two-factor-disable': (reply) =>
    inAccount(reply, 'account-two-factor-disable', { action: '/x', backHref: '/account/two-factor' }),
  'account-two-factor-disable-hostile': (reply) =>
    inAccount(reply, 'account-two-factor-disable', { action: hostile, backHref: hostile }),
  'account-recovery-codes': (reply) => inAccount(reply, 'account-recovery-codes', codes),
  'account-recovery-codes-hostile': (reply) =>
    inAccount(reply, 'account-recovery-codes', {
      email: hostile + long,
      codes: [hostile, long],
      downloadAction: hostile,
      nextHref: hostile,
    }),
  'account-recovery-codes-new': (reply) =>
    inAccount(reply, 'account-recovery-codes-new', { action: '/x', backHref: '/account/two-factor' }),
  'account-recovery-codes-new-hostile': (reply) =>
    inAccount(reply, 'account-recovery-codes-new', { action: hostile, backHref: hostile }),
  'home-offer': (reply) =>
    reply.page('home', {
      user: { name: 'Ada Lovelace', email: 'ada@example.com', verified: true },
      justVerified: false,
      justSignedOut: false,
      loginHref: '/oauth/login',
      signOutAction: '/oauth/sign-out',
      verifyHref: '/oauth/verify-email',
      accountHref: '/account',
      parts: [...passkeyFeature.offers, ...termsFeature.offers, ...adminFeature.offers].map(({ part }) => part),
    }),
  'account-passkeys': (reply) =>
    inAccount(reply, 'account-passkeys', {
      passkeys: [passkey, { ...passkey, name: 'Security key', isSynced: false, usedAt: null, addedAt: null }],
      addHref: '/account/passkeys/new',
    }),
  'account-passkeys-none': (reply) =>
    inAccount(reply, 'account-passkeys', { passkeys: [], addHref: '/account/passkeys/new' }),
  'account-passkeys-hostile': (reply) =>
    inAccount(reply, 'account-passkeys', { passkeys: [hostilePasskey], addHref: hostile }),
  'account-passkey-new': (reply) =>
    inAccount(reply, 'account-passkey-new', { name: 'Chrome on Linux', nextHref: '/x', backHref: '/x' }),
  'account-passkey-new-hostile': (reply) =>
    inAccount(reply, 'account-passkey-new', { name: hostile, nextHref: hostile, backHref: hostile }),
  'account-passkey': (reply) => inAccount(reply, 'account-passkey', edit),
  'account-passkey-last': (reply) => inAccount(reply, 'account-passkey', { ...edit, errors: { passkey: [lastWayIn] } }),
  'account-passkey-hostile': (reply) =>
    inAccount(reply, 'account-passkey', {
      passkey: hostilePasskey,
      name: hostile,
      renameAction: hostile,
      removeAction: hostile,
      errors: { name: [hostile + long] },
      backHref: hostile,
    }),
  'account-sessions': (reply) =>
    inAccount(reply, 'account-sessions', {
      devices: [
        { ...device, state: 'current' },
        device,
        { ...device, browser: null, ipAddress: null, state: 'remembered' },
      ],
      othersHref: '/account/sessions/others',
    }),
  'account-sessions-one': (reply) =>
    inAccount(reply, 'account-sessions', {
      devices: [{ ...device, state: 'current', isBound: false }],
      othersHref: null,
    }),
  'account-sessions-hostile': (reply) =>
    inAccount(reply, 'account-sessions', {
      devices: [{ ...device, browser: hostile + long, ipAddress: hostile + long, endAction: hostile }],
      othersHref: hostile,
    }),
  'account-sessions-others': (reply) =>
    inAccount(reply, 'account-sessions-others', { action: '/x', backHref: '/account/sessions' }),
  'account-sessions-others-hostile': (reply) =>
    inAccount(reply, 'account-sessions-others', { action: hostile, backHref: hostile }),
}
