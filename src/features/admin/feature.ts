import type { Feature } from '../../contract/feature.ts'

export const adminFeature = {
  routes: [() => import('./api/routes.ts')],
} satisfies Feature
