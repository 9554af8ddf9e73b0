import type { Feature } from '../../contract/feature.ts'

export const testPageFeature = {
  isOn: ({ test_page }) => test_page,
  routes: [() => import('./routes.ts')],
} satisfies Feature
