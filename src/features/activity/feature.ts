import type { Feature } from '../../feature.ts'
import { exportEvents } from './export.ts'

export const activityFeature = {
  accountPages: () => ['activity'],
  exportData: async ({ database }, userId) => ({ events: await exportEvents(database, userId) }),
} satisfies Feature
