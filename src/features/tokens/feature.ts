import { countTokens, listTokens } from '../../auth/tokens/store.ts'
import type { Feature } from '../../contract/feature.ts'

export const tokenFeature = {
  commands: async () => (await import('./commands.ts')).tokenCommands,
  routes: [() => import('./routes.ts')],
  accountPages: () => ['tokens'],
  accountStates: async ({ app }, { id }) => ({ tokens: await countTokens(app.database.prisma, id) }),
  errors: {
    invalid_dpop_proof: {
      status: 400,
      meaning: 'The header `DPoP` is not a valid proof for this request.',
      remedy: 'Create a new proof for each request, with its method, its URL and the current time.',
    },
  },
  exportData: async ({ database }, userId) => ({ tokens: await listTokens(database, userId) }),
} satisfies Feature
