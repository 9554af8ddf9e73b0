import type { FastifyInstance } from 'fastify'
import { legacyHashes } from '../../identity/users.ts'

/** Interval at which a process looks for kinds of hashes that appeared or are gone, in milliseconds. */
const interval = 3_600_000

/** Reads which kinds of legacy hashes the users have, so that each sign-in takes the same time. */
export const readLegacyCosts = async ({ hashing, database }: FastifyInstance): Promise<void> =>
  hashing.setLegacyCosts(await legacyHashes(database))

/** Reads the kinds now and every hour: users get a current hash with their next sign-in, and an import adds kinds. */
export async function watchLegacyCosts(app: FastifyInstance): Promise<void> {
  await readLegacyCosts(app)
  const timer = setInterval(() => {
    readLegacyCosts(app).catch((error) => app.log.warn({ err: error }, 'cannot read the kinds of password hashes'))
  }, interval).unref()
  app.addHook('onClose', async () => clearInterval(timer))
}
