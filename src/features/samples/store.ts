import type { Database, Tx } from '../../platform/database/database.ts'

interface Server {
  id: number
  name: string
  user_id: number
}

interface Task {
  id: number
  title: string
}

/** Renames the server, or creates it for the user; null if it belongs to another user. */
export async function putServer(
  { prisma }: Database,
  id: bigint,
  name: string,
  userId: number,
): Promise<Server | null> {
  // A single statement, so that a concurrent request cannot rename another user's server.
  const count = await prisma.$executeRaw`
    INSERT INTO sample_servers (id, name, user_id) VALUES (${id}, ${name}, ${BigInt(userId)})
    ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE sample_servers.user_id = excluded.user_id`
  return count === 0 ? null : { id: Number(id), name, user_id: userId }
}

/** Returns the tasks of a user, or those of machines (null). */
export async function listTasks({ prisma }: Database, userId: number | null): Promise<Task[]> {
  const where = { userId: userId === null ? null : BigInt(userId) }
  const rows = await prisma.sampleTask.findMany({ where, orderBy: { id: 'asc' }, take: 100 })
  return rows.map(({ id, title }) => ({ id: Number(id), title }))
}

/** Adds a task. */
export async function createTask({ prisma }: Database, title: string, userId: number | null): Promise<Task> {
  const row = await prisma.sampleTask.create({ data: { title, userId: userId === null ? null : BigInt(userId) } })
  return { id: Number(row.id), title: row.title }
}

/** Maximum number of exported rows of each kind. */
const maxExported = 10_000

/** The user's samples, for the export. Kinds without rows are left out, because most installations have none. */
export async function exportSamples({ prisma }: Database, userId: number) {
  const owned = { where: { userId: BigInt(userId) }, orderBy: { id: 'asc' }, take: maxExported } as const
  const servers = await prisma.sampleServer.findMany(owned)
  const tasks = await prisma.sampleTask.findMany(owned)
  return {
    ...(servers.length > 0 && { sample_servers: servers.map(({ id, name }) => ({ id: Number(id), name })) }),
    ...(tasks.length > 0 && { sample_tasks: tasks.map(({ id, title }) => ({ id: Number(id), title })) }),
  }
}

/** Deletes the user's samples. */
export async function deleteSamples(tx: Tx, userId: number): Promise<void> {
  const owned = { where: { userId: BigInt(userId) } }
  await tx.sampleServer.deleteMany(owned)
  await tx.sampleTask.deleteMany(owned)
}
