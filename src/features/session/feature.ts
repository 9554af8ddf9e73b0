import type { Feature } from '../../contract/feature.ts'

export const sessionFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
