import type { FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { eventContext, recordEvent } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import { hasWayIn } from '../../identity/ways-in.ts'
import { notFound, validationFailed } from '../../platform/errors.ts'
import { findProvider } from './providers/provider.ts'
import { deleteLink } from './store.ts'

const lastWayIn = 'This account is the only way in. Set a password or add another way to sign in first.'

/** Unlinks a provider account of the user. Throws 404 for an unknown link and 422 for the last way to sign in. */
export async function unlink(request: FastifyRequest, id: bigint): Promise<void> {
  const app = request.server
  const user = requireUser(request)
  await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, request)
    const provider = await deleteLink(tx, { id, userId: user.id })
    if (provider === null) throw notFound()
    if (!(await hasWayIn(app, tx, user.id))) throw validationFailed({ social_account: [lastWayIn] })
    const origin = eventContext(request)
    await recordEvent(tx, origin, { type: 'social_unlinked', userId: user.id, data: { provider } })
    const label = findProvider(app.config.current(), provider)?.label ?? provider
    await notify(app, tx, origin, user, 'social_unlinked', { provider: label })
  })
}
