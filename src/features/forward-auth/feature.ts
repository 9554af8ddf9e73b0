import type { Feature } from '../../contract/feature.ts'

export const forwardAuthFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
