import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Feature } from '../../feature.ts'
import { deleteChallengesOf, pruneChallenges } from './challenges/store.ts'
import { deletePasskeysOf, hasPasskey } from './store.ts'

const pages = join(import.meta.dirname, 'pages')

/** The package exports only modules; the browser bundle is in the same directory. */
const webauthn = dirname(dirname(createRequire(import.meta.url).resolve('@simplewebauthn/browser')))
const ownScript = (name: string) => join(import.meta.dirname, 'scripts', name)

export const passkeyFeature = {
  wayIn: {
    isOpen: async (tx, { passkeys }, userId) => passkeys.enabled && (await hasPasskey({ prisma: tx }, userId)),
    remove: deletePasskeysOf,
  },
  deleteDataOf: deleteChallengesOf,
  prune: pruneChallenges,
  scripts: {
    'webauthn.js': join(webauthn, 'dist', 'bundle', 'index.umd.min.js'),
    'passkey.js': ownScript('passkey.js'),
    'passkey-confirm.js': ownScript('passkey-confirm.js'),
    'passkey-login.js': ownScript('passkey-login.js'),
  },
  signInPage: {
    part: ({ passkeys }) => ({
      template: passkeys.enabled ? join(pages, 'login.eta') : null,
      data: { passkeys: passkeys.enabled },
    }),
  },
  stepUp: {
    isEnrolled: async ({ config, database }, userId) =>
      config.current().passkeys.enabled && (await hasPasskey(database, userId)),
    part: { template: join(pages, 'step-up.eta'), data: { passkey: true } },
    lead: 'step-up.passkey_lead',
  },
} satisfies Feature
