import { join } from 'node:path'
import type { Feature } from '../../feature.ts'
import { deleteChallengesOf, pruneChallenges } from './challenges/store.ts'
import { deletePasskeysOf, hasPasskey } from './store.ts'

const pages = join(import.meta.dirname, 'pages')

export const passkeyFeature = {
  wayIn: {
    isOpen: async (tx, { passkeys }, userId) => passkeys.enabled && (await hasPasskey({ prisma: tx }, userId)),
    remove: deletePasskeysOf,
  },
  deleteDataOf: deleteChallengesOf,
  prune: pruneChallenges,
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
