import type { Visit } from '../../auth/access/visit.ts'
import { existingGroups, syncProviderGroups } from '../../identity/groups.ts'
import { isGroupName } from '../../platform/config/sections/groups.ts'
import type { Tx } from '../../platform/database/database.ts'
import type { StoredIdentity } from './store.ts'

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
