import type { Feature } from '../../contract/feature.ts'
import { listEmailChanges } from '../../identity/email-change.ts'

export const emailChangeFeature = {
  routes: [() => import('./routes.ts')],
  exportData: async ({ database }, userId) => ({ email_changes: await listEmailChanges(database, userId) }),
} satisfies Feature
