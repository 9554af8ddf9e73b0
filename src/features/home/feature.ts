import type { Feature } from '../../contract/feature.ts'

export const homeFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
