import type { Config } from '../platform/config/schema.ts'
import type { Tx } from '../platform/database/database.ts'
import { withAttributes } from './attributes.ts'
import { deriveUsername } from './username.ts'
import { findUserById } from './users.ts'

/**
 * Removes what the earlier owner of a locked account chose: the parts of the name, the picture, the fields that users write, and
 * the username, so that the new owner does not appear under it.
 */
export async function forgetOwnData(tx: Tx, { users }: Pick<Config, 'users'>, userId: number): Promise<void> {
  const found = await findUserById({ prisma: tx }, userId)
  if (!found) return
  const { fields = {}, username } = found.user
  const kept = Object.entries(fields).filter(([name]) => {
    const declared = Object.hasOwn(users.fields, name) ? users.fields[name] : undefined
    return !declared?.write.includes('user')
  })
  const attributes = withAttributes({ fields: Object.fromEntries(kept) }, {})
  await tx.user.update({ where: { id: BigInt(userId) }, data: { attributes } })
  // A username with the id at its end is a derived one and need not change.
  if (!username.endsWith(`-${userId}`)) await deriveUsername(tx, found.user)
}
