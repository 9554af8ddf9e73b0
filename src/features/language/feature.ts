import type { Feature } from '../../contract/feature.ts'

export const languageFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
