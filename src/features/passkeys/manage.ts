import type { FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { eventContext, recordEvent } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import { hasWayIn } from '../../identity/ways-in.ts'
import type { Config } from '../../platform/config/schema.ts'
import { notFound, validationFailed } from '../../platform/errors.ts'
import { deletePasskey, renamePasskey } from './store.ts'

const lastWayIn = 'This passkey is the only way into the account. Set a password or add another passkey first.'

/** An attacker at an unlocked browser must not be able to add or remove a passkey. */
export const recentPassword = ({ passkeys }: Config): boolean => passkeys.confirm_password

/** Renames a passkey of the user. 404 if it was deleted. */
export async function rename(request: FastifyRequest, id: bigint, name: string) {
  const { clock, database } = request.server
  const userId = requireUser(request).id
  const passkey = await database.transaction(async (tx) => {
    await requireStillSignedIn(tx, request)
    const renamed = await renamePasskey(tx, { id, userId, name, now: clock.now() })
    const facts = { userId, data: { passkey_id: Number(id) } }
    if (renamed) await recordEvent(tx, eventContext(request), { type: 'passkey_renamed', ...facts })
    return renamed
  })
  if (!passkey) throw notFound()
  return passkey
}

/** Deletes a passkey of the user. 404 if it was deleted, 422 if the user could not sign in any more. */
export async function remove(request: FastifyRequest, id: bigint): Promise<void> {
  const { server: app } = request
  const user = requireUser(request)
  await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, request)
    if (!(await deletePasskey(tx, { id, userId: user.id }))) throw notFound()
    if (!(await hasWayIn(app, tx, user.id))) throw validationFailed({ passkey: [lastWayIn] })
    const origin = eventContext(request)
    const facts = { userId: user.id, data: { passkey_id: Number(id) } }
    await recordEvent(tx, origin, { type: 'passkey_deleted', ...facts })
    await notify(app, tx, origin, user, 'passkey_removed')
  })
}
