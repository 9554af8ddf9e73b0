import type { Feature } from '../../contract/feature.ts'

export const registrationFeature = {
  routes: [() => import('./routes.ts'), () => import('./page-routes.ts')],
} satisfies Feature
