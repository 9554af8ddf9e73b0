import type { Feature } from '../../feature.ts'
import { listTokens } from '../../tokens/store.ts'

export const tokenFeature = {
  accountPages: () => ['tokens'],
  exportData: async ({ database }, userId) => ({ tokens: await listTokens(database, userId) }),
} satisfies Feature
