import type { Database } from '../../platform/database/database.ts'
import type { Language } from '../../platform/languages/languages.ts'

/** Stores the language that a user chose. */
export async function storeLanguage(database: Database, userId: number, language: Language): Promise<void> {
  await database.prisma.user.updateMany({ where: { id: BigInt(userId) }, data: { language } })
}
