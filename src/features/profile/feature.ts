import type { Feature } from '../../contract/feature.ts'
import { listMemberships } from '../../identity/groups.ts'
import { findUserById } from '../../identity/users.ts'

export const profileFeature = {
  routes: [
    () => import('./routes.ts'),
    () => import('./page-routes.ts'),
    () => import('./password-routes.ts'),
    () => import('./deletion-routes.ts'),
    () => import('./export-routes.ts'),
  ],
  accountPages: () => ['profile', 'password', 'data'],
  accountStates: async (_visit, { email_verified_at }) =>
    email_verified_at === null ? { profile: { text: 'account.unverified', isOpen: true } } : {},
  exportData: async ({ database }, userId) => ({
    profile: (await findUserById(database, userId))?.user ?? null,
    groups: await listMemberships(database, userId),
  }),
} satisfies Feature
