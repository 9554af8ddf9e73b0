import type { Feature } from '../../contract/feature.ts'

export const referenceFeature = {
  isOn: ({ app }) => app.environment === 'development',
  routes: [() => import('./routes.ts')],
} satisfies Feature
