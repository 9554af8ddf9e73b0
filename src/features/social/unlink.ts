import { requireUser } from '../../auth/access/caller.ts'
import type { Visit } from '../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { recordEvent } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import { hasWayIn } from '../../identity/ways-in.ts'
import { notFound, validationFailed } from '../../platform/errors.ts'
import { findProvider } from './providers/provider.ts'
import { deleteLink, endProvided } from './store.ts'

const lastWayIn = 'This linked account is the only way in. Set a password or add another way to sign in first.'

/** Unlinks a provider account of the user. Throws 404 for an unknown link and 422 for the last way to sign in. */
export async function unlink(visit: Visit, id: bigint): Promise<void> {
  const app = visit.app
  const user = requireUser(visit)
  await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    const link = await deleteLink(tx, { id, userId: user.id })
    if (!link) throw notFound()
    const { provider } = link
    if (!(await hasWayIn(app, tx, user.id))) throw validationFailed({ social_account: [lastWayIn] })
    const origin = visit.origin
    await recordEvent(tx, origin, { type: 'social_unlinked', userId: user.id, data: { provider } })
    await endProvided(tx, origin, user.id, link)
    const label = findProvider(app.config.current(), provider)?.label ?? provider
    await notify(app, tx, origin, user, 'social_unlinked', { provider: label })
  })
}
