import type { Feature } from '../../contract/feature.ts'
import { findUserById } from '../../identity/users.ts'

export const profileFeature = {
  accountPages: () => ['profile', 'password', 'data'],
  exportData: async ({ database }, userId) => ({ profile: (await findUserById(database, userId))?.user ?? null }),
} satisfies Feature
