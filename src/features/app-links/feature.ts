import type { Feature } from '../../contract/feature.ts'

export const appLinksFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
