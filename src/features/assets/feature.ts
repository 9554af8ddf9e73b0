import type { Feature } from '../../contract/feature.ts'

export const assetsFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
