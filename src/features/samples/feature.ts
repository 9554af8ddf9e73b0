import type { Feature } from '../../feature.ts'
import { deleteSamples } from './store.ts'

export const sampleFeature = { deleteDataOf: deleteSamples } satisfies Feature
