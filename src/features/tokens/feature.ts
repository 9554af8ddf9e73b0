import { countTokens, listTokens } from '../../auth/tokens/store.ts'
import type { Feature } from '../../contract/feature.ts'

export const tokenFeature = {
  commands: async () => (await import('./commands.ts')).tokenCommands,
  routes: [() => import('./routes.ts')],
  accountPages: () => ['tokens'],
  accountStates: async ({ app }, { id }) => ({ tokens: await countTokens(app.database.prisma, id) }),
  exportData: async ({ database }, userId) => ({ tokens: await listTokens(database, userId) }),
} satisfies Feature
