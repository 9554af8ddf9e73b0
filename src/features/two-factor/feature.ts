import { join } from 'node:path'
import type { Feature } from '../../contract/feature.ts'

export const twoFactorFeature = {
  routes: [() => import('./routes.ts'), () => import('./pages/routes.ts'), () => import('./recovery-code-routes.ts')],
  accountPages: ({ two_factor }) => (two_factor.enabled ? ['two-factor'] : []),
  scripts: { 'print.js': join(import.meta.dirname, 'print.js') },
} satisfies Feature
