import type { Feature } from '../../contract/feature.ts'

export const unlockFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
