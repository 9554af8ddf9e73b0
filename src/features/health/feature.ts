import type { Feature } from '../../contract/feature.ts'

export const healthFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
