import type { Feature } from '../../contract/feature.ts'

export const apiDescriptionFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
