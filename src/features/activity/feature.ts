import type { Feature } from '../../contract/feature.ts'
import { exportEvents } from './export.ts'

export const activityFeature = {
  routes: [() => import('./routes.ts')],
  accountPages: () => ['activity'],
  exportData: async ({ database }, userId) => ({ events: await exportEvents(database, userId) }),
} satisfies Feature
