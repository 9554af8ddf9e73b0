import type { Feature } from '../../contract/feature.ts'

export const passwordConfirmationFeature = {
  routes: [() => import('./routes.ts'), () => import('./page-routes.ts')],
} satisfies Feature
