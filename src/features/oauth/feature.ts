import type { Feature } from '../../feature.ts'
import { connectedApplications } from './applications/authorizations.ts'
import { listPersonalTokens } from './applications/store.ts'
import { skipsConsent } from './protocol/grants.ts'
import { ownScopes } from './protocol/scopes.ts'

export const oauthFeature = {
  accountPages: (config) => [
    ...(config.clients.some((client) => !skipsConsent(client, config)) ? (['applications'] as const) : []),
    ...(ownScopes(config).length > 0 ? (['personal-tokens'] as const) : []),
  ],
  exportData: async (app, userId) => ({
    applications: await connectedApplications(app, app.oauth, userId),
    personal_access_tokens: await listPersonalTokens(app.database, userId, app.clock.now()),
  }),
} satisfies Feature
