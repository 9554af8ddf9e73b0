import type { FastifyPluginAsync } from 'fastify'
import { startSchedule } from '../../plugins/schedule.ts'
import applications from './applications/routes.ts'
import { deleteEndedPersonalTokens } from './applications/store.ts'
import interactions from './interaction/routes.ts'
import type { ProtocolHolder } from './protocol/provider.ts'
import protocol from './protocol/routes.ts'

interface OauthOptions {
  holder: ProtocolHolder
}

/** The OAuth 2.0 and OpenID Connect server. */
const oauth: FastifyPluginAsync<OauthOptions> = async (app, { holder }) => {
  await app.register(protocol, { holder })
  await app.register(interactions, { holder })
  await app.register(applications, { holder })
  const run = async () => {
    await holder.prune()
    await holder.sealRecords()
    await deleteEndedPersonalTokens(app.database, app.clock.now())
  }
  // Plain payloads of an older version do not stay until the job's first run.
  app.addHook('onReady', async () => app.background(() => holder.sealRecords()))
  startSchedule(app, [{ name: 'prune-oauth', every: 3_600_000, run }])
}

export default oauth
