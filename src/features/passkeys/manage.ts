import { requireUser } from '../../auth/access/caller.ts'
import type { Visit } from '../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { recordEvent } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import { hasWayIn } from '../../identity/ways-in.ts'
import type { Config } from '../../platform/config/schema.ts'
import { notFound, validationFailed } from '../../platform/errors.ts'
import { deletePasskey, renamePasskey } from './store.ts'

const lastWayIn = 'This passkey is the only way into the account. Set a password or add another passkey first.'

/** An attacker at an unlocked browser must not be able to add or remove a passkey. */
export const recentPassword = ({ passkeys }: Config): boolean => passkeys.confirm_password

/** Renames a passkey of the user. 404 if it was deleted. */
export async function rename(visit: Visit, id: bigint, name: string) {
  const { clock, database } = visit.app
  const userId = requireUser(visit).id
  const passkey = await database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    const renamed = await renamePasskey(tx, { id, userId, name, now: clock.now() })
    const facts = { userId, data: { passkey_id: Number(id) } }
    if (renamed) await recordEvent(tx, visit.origin, { type: 'passkey_renamed', ...facts })
    return renamed
  })
  if (!passkey) throw notFound()
  return passkey
}

/** Deletes a passkey of the user. 404 if it was deleted, 422 if the user could not sign in any more. */
export async function remove(visit: Visit, id: bigint): Promise<void> {
  const { app } = visit
  const user = requireUser(visit)
  await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    if (!(await deletePasskey(tx, { id, userId: user.id }))) throw notFound()
    if (!(await hasWayIn(app, tx, user.id))) throw validationFailed({ passkey: [lastWayIn] })
    const origin = visit.origin
    const facts = { userId: user.id, data: { passkey_id: Number(id) } }
    await recordEvent(tx, origin, { type: 'passkey_deleted', ...facts })
    await notify(app, tx, origin, user, 'passkey_removed')
  })
}
