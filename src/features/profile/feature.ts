import type { Feature } from '../../feature.ts'
import { findUserById } from '../../users/users.ts'

export const profileFeature = {
  accountPages: () => ['profile', 'password', 'data'],
  exportData: async ({ database }, userId) => ({ profile: (await findUserById(database, userId))?.user ?? null }),
} satisfies Feature
