import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Feature, StepUpFactor } from '../../contract/feature.ts'
import { deleteChallengesOf, pruneChallenges } from './challenge-store.ts'
import { isConditional } from './conditional/eligible.ts'
import { passkeyErrors } from './errors.ts'
import { isOfferedPasskey, newPasskeyPath } from './offer.ts'
import { countPasskeys, deletePasskeysOf, hasPasskey, listPasskeys } from './store.ts'
import { usedPasskey } from './used.ts'

const pages = join(import.meta.dirname, 'pages')

/** The package exports only modules; the browser bundle is in the same directory. */
const webauthn = dirname(dirname(createRequire(import.meta.url).resolve('@simplewebauthn/browser')))
const ownScript = (name: string) => join(import.meta.dirname, 'scripts', name)

const isEnrolled: StepUpFactor['isEnrolled'] = async ({ config, database }, userId) =>
  config.current().passkeys.enabled && (await hasPasskey(database, userId))

export const passkeyFeature = {
  routes: [() => import('./routes.ts'), () => import('./account-routes.ts')],
  tokenProof: async () => (await import('./token-proof.ts')).passkeyProof,
  errors: passkeyErrors,
  exportData: async ({ database }, userId) => ({ passkeys: await listPasskeys(database, userId) }),
  wayIn: {
    isOpen: async (tx, { passkeys }, userId) => passkeys.enabled && (await hasPasskey({ prisma: tx }, userId)),
    remove: deletePasskeysOf,
  },
  deleteDataOf: deleteChallengesOf,
  prune: pruneChallenges,
  accountPages: ({ passkeys }) => (passkeys.enabled ? ['passkeys'] : []),
  accountStates: async ({ app }, { id }) => ({ passkeys: await countPasskeys(app.database.prisma, id) }),
  scripts: {
    'webauthn.js': join(webauthn, 'dist', 'bundle', 'index.umd.min.js'),
    'passkey.js': ownScript('passkey.js'),
    'passkey-add.js': ownScript('passkey-add.js'),
    'passkey-conditional.js': ownScript('passkey-conditional.js'),
    'passkey-confirm.js': ownScript('passkey-confirm.js'),
    'passkey-invitation.js': ownScript('passkey-invitation.js'),
    'passkey-login.js': ownScript('passkey-login.js'),
    'passkey-signal.js': ownScript('passkey-signal.js'),
  },
  changeScript: ({ passkeys }) => (passkeys.enabled ? 'passkey-signal.js' : null),
  signInPage: {
    part: ({ passkeys }) => ({
      template: passkeys.enabled ? join(pages, 'login.eta') : null,
      data: { passkeys: passkeys.enabled },
    }),
    isPreferred: usedPasskey,
  },
  invitationPage: {
    part: ({ passkeys }) => ({ template: passkeys.enabled ? join(pages, 'invitation.eta') : null, data: {} }),
  },
  challengePage: async (app, userId) => ({
    template: (await isEnrolled(app, userId)) ? join(pages, 'step-up.eta') : null,
    data: { code: true, passkeyCeremony: 'challenge' },
  }),
  stepUp: {
    isEnrolled,
    part: { template: join(pages, 'step-up.eta'), data: { passkey: true, passkeyCeremony: 'confirm' } },
    lead: 'step-up.passkey_lead',
  },
  offers: [
    {
      cookie: 'svc_passkey_offer',
      isFor: isOfferedPasskey,
      part: { template: join(pages, 'offer.eta'), data: { newPasskeyHref: newPasskeyPath } },
    },
    {
      cookie: null,
      isFor: isConditional,
      part: { template: join(pages, 'conditional.eta'), data: {} },
    },
  ],
} satisfies Feature
