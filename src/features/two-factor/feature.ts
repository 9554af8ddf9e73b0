import { join } from 'node:path'
import {
  listTrustedBrowsers,
  pruneTrustedBrowsers,
  revokeTrustedBrowsers,
} from '../../auth/sign-in/trusted-browsers.ts'
import type { Feature } from '../../contract/feature.ts'

const on = { text: 'account-two-factor.on', isOpen: false } as const
const off = { text: 'account-two-factor.off', isOpen: true } as const

export const twoFactorFeature = {
  routes: [
    () => import('./routes.ts'),
    () => import('./pages/routes.ts'),
    () => import('./recovery-code-routes.ts'),
    () => import('./trusted-browser-routes.ts'),
  ],
  revokeAuthorizations: revokeTrustedBrowsers,
  prune: pruneTrustedBrowsers,
  exportData: async ({ database, clock }, userId) => ({
    trusted_browsers: await listTrustedBrowsers(database, userId, clock.now()),
  }),
  accountPages: ({ two_factor }) => (two_factor.enabled ? ['two-factor'] : []),
  accountStates: async (_visit, { two_factor_enabled }) => ({ 'two-factor': two_factor_enabled ? on : off }),
  scripts: { 'print.js': join(import.meta.dirname, 'print.js') },
} satisfies Feature
