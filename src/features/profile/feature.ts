import type { Feature } from '../../contract/feature.ts'
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
  exportData: async ({ database }, userId) => ({ profile: (await findUserById(database, userId))?.user ?? null }),
} satisfies Feature
