import type { FastifyInstance } from 'fastify'
import type { Feature } from '../../contract/feature.ts'
import type { Config } from '../../platform/config/schema.ts'
import { connectedApplications } from './applications/authorizations.ts'
import {
  countPersonalTokens,
  deleteAuthorizations,
  deleteExpiredPersonalTokens,
  deletePersonalTokens,
  listPersonalTokens,
} from './applications/store.ts'
import { pruneDocuments } from './client-documents/store.ts'
import { ownScopes } from './clients/scopes.ts'
import { pruneSecretUses } from './clients/secret-store.ts'
import { agentsOf } from './delegation/delegations.ts'
import { skipsConsent } from './protocol/grants.ts'
import { deleteRecordsOf } from './records/ended-store.ts'

/** Deletes expired records and tokens, and seals records with the current key. */
async function pruneOAuth({ oauth, database, clock }: FastifyInstance): Promise<void> {
  await oauth.prune()
  await oauth.statusLists.prune()
  await oauth.resealRecords()
  await deleteExpiredPersonalTokens(database, clock.now())
  await pruneDocuments(database, clock.now())
  await pruneSecretUses(database, clock.now())
}

/** Tests whether some clients need the consent of users, or act for them. */
const asksForConsent = (config: Config): boolean =>
  config.oauth.client_id_metadata.enabled ||
  config.clients.some((client) => client.may_act_for !== undefined || !skipsConsent(client, config))

export const oauthFeature = {
  routes: [() => import('./routes.ts')],
  revokeTokens: deletePersonalTokens,
  revokeGrants: deleteRecordsOf,
  revokeAuthorizations: deleteAuthorizations,
  commands: async () => {
    const [{ clientCommands }, { blockCommands }, { keyCommands }, { previewCommand }] = await Promise.all([
      import('./clients/commands.ts'),
      import('./client-documents/commands.ts'),
      import('./keys/commands.ts'),
      import('./protocol/preview-command.ts'),
    ])
    return [...clientCommands, previewCommand, ...blockCommands, ...keyCommands]
  },
  jobs: (app) => [{ name: 'prune-oauth', every: 3_600_000, run: () => pruneOAuth(app) }],
  gauges: ({ oauth }, metrics) => {
    const help = 'How long the current key has been signing, by algorithm.'
    metrics.gauge('svc_signing_key_age_seconds', help, ['algorithm'], async (set) => {
      for (const [algorithm, age] of await oauth.keyAges()) set(age / 1000, { algorithm })
    })
  },
  services: async (app) => (await import('./decorate.ts')).addOAuth(app),
  accountPages: (config) => [
    ...(asksForConsent(config) ? (['applications'] as const) : []),
    ...(ownScopes(config).length > 0 ? (['personal-tokens'] as const) : []),
  ],
  accountStates: async ({ app }, { id }) => ({
    applications: (await connectedApplications(app, app.oauth, id)).length,
    'personal-tokens': await countPersonalTokens(app.database.prisma, id, new Date(app.clock.now())),
  }),
  exportData: async (app, userId) => ({
    applications: await connectedApplications(app, app.oauth, userId),
    agents: await agentsOf(app, app.oauth.registry(), userId),
    personal_access_tokens: await listPersonalTokens(app.database, userId, app.clock.now()),
  }),
} satisfies Feature
