import type { Feature } from '../../contract/feature.ts'
import { connectedApplications } from './applications/authorizations.ts'
import { deleteAuthorizations, deletePersonalTokens, listPersonalTokens } from './applications/store.ts'
import { ownScopes } from './clients/scopes.ts'
import { skipsConsent } from './protocol/grants.ts'
import { deleteRecordsOf } from './records/ended-store.ts'

export const oauthFeature = {
  routes: [() => import('./routes.ts')],
  revokeTokens: deletePersonalTokens,
  revokeGrants: deleteRecordsOf,
  revokeAuthorizations: deleteAuthorizations,
  services: async (app) => (await import('./decorate.ts')).addOAuth(app),
  accountPages: (config) => [
    ...(config.clients.some((client) => !skipsConsent(client, config)) ? (['applications'] as const) : []),
    ...(ownScopes(config).length > 0 ? (['personal-tokens'] as const) : []),
  ],
  exportData: async (app, userId) => ({
    applications: await connectedApplications(app, app.oauth, userId),
    personal_access_tokens: await listPersonalTokens(app.database, userId, app.clock.now()),
  }),
} satisfies Feature
