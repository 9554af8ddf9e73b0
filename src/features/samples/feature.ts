import type { Feature } from '../../contract/feature.ts'
import { deleteSamples, exportSamples } from './store.ts'

export const sampleFeature = {
  isOn: ({ samples }) => samples,
  routes: [() => import('./routes.ts')],
  deleteDataOf: deleteSamples,
  exportData: ({ database }, userId) => exportSamples(database, userId),
} satisfies Feature
