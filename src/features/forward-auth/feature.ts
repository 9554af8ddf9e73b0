import type { Feature } from '../../contract/feature.ts'

export const forwardAuthFeature = {
  firstHooks: async (app) => (await import('./guard-port.ts')).addGuardPort(app),
  routes: [() => import('./routes.ts')],
} satisfies Feature
