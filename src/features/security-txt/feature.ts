import type { Feature } from '../../contract/feature.ts'

export const securityTxtFeature = {
  routes: [() => import('./routes.ts')],
} satisfies Feature
