import type { Feature } from '../../contract/feature.ts'

export const signInPageFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
