import type { Feature } from '../../contract/feature.ts'

export const accountFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
