import { join } from 'node:path'
import type { Feature } from '../../contract/feature.ts'

export const errorReferenceFeature = {
  routes: [() => import('./routes.ts')],
  scripts: { 'errors.js': join(import.meta.dirname, 'errors.js') },
} satisfies Feature
