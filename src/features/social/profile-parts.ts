import type { Visit } from '../../auth/access/visit.ts'
import { providedFields } from '../../identity/fields.ts'
import { existingGroups, syncProviderGroups } from '../../identity/groups.ts'
import { isGroupName } from '../../platform/config/sections/groups.ts'
import type { Tx } from '../../platform/database/database.ts'
import { type StoredIdentity, storeAttributes, storedAttributes } from './store.ts'

/** Stores the picture that the provider sent, and the fields that it may write, in the record of its user, who is locked. */
export async function applyProfile(
  { app }: Pick<Visit, 'app'>,
  tx: Tx,
  userId: number,
  { avatar, fields }: Pick<StoredIdentity, 'avatar' | 'fields'>,
): Promise<void> {
  const before = await storedAttributes(tx, userId)
  const provided = providedFields(app.config.current(), before.fields ?? {}, fields)
  await storeAttributes(tx, userId, before, { picture: avatar ?? undefined, fields: provided })
}

/** Applies the groups that the provider listed to its user, who is locked. */
export async function applyGroups(
  { app, origin }: Pick<Visit, 'app' | 'origin'>,
  tx: Tx,
  userId: number,
  { provider, groups }: Pick<StoredIdentity, 'provider' | 'groups'>,
): Promise<void> {
  if (!groups) return
  const config = app.config.current()
  const map = config.social[provider]?.groups?.map ?? {}
  const wanted =
    Object.keys(map).length > 0
      ? groups.flatMap((value) => (Object.hasOwn(map, value) ? [map[value] ?? ''] : []))
      : groups
  const known = await existingGroups({ prisma: tx }, config, wanted.filter(isGroupName))
  await syncProviderGroups(tx, app.database, origin, config, { userId, provider, names: [...known] })
}
