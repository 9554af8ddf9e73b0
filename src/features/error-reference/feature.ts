import type { Feature } from '../../contract/feature.ts'

export const errorReferenceFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
