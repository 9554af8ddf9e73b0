import type { Feature } from '../../contract/feature.ts'

export const diagnoseFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
