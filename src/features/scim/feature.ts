import type { Feature } from '../../contract/feature.ts'

export const scimFeature = { routes: [() => import('./routes.ts')] } satisfies Feature
