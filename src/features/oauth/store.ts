import type { Database, Tx } from '../../plugins/database/database.ts'

type Engine = Pick<Database, 'engine'>

/** Lets nobody take the account's credentials away until the transaction ends. */
async function holdAccount({ engine }: Engine, tx: Tx, userId: number): Promise<void> {
  // SQLite runs one writing transaction at a time anyway.
  if (engine !== 'sqlite') await tx.$queryRaw`SELECT 1 FROM users WHERE id = ${BigInt(userId)} FOR NO KEY UPDATE`
}

/** Whether the session still is the user's; so it is until the transaction ends. */
export async function holdSession(database: Engine, tx: Tx, userId: number, publicId: string): Promise<boolean> {
  await holdAccount(database, tx, userId)
  return (await tx.session.count({ where: { publicId, userId: BigInt(userId) } })) > 0
}

/** Whether the password hash still is the user's, who may sign in; so it is until the transaction ends. */
export async function holdPassword(database: Engine, tx: Tx, userId: number, hash: string | null): Promise<boolean> {
  await holdAccount(database, tx, userId)
  return (await tx.user.count({ where: { id: BigInt(userId), password: hash, disabledAt: null } })) > 0
}
