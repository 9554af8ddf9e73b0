import type { Feature } from '../../feature.ts'
import { listEmailChanges } from '../../users/email-change.ts'

export const emailChangeFeature = {
  exportData: async ({ database }, userId) => ({ email_changes: await listEmailChanges(database, userId) }),
} satisfies Feature
