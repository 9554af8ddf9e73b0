import { existsSync } from 'node:fs'
import { isValidField } from '../identity/fields.ts'
import { allGroups } from '../identity/groups.ts'
import { eachUser } from '../identity/users.ts'
import type { Config } from '../platform/config/schema.ts'
import { type Database, openDatabase } from '../platform/database/database.ts'

/** Number of ids that a finding names. */
const shownIds = 10

/** Users with one problem. */
class Affected {
  count = 0
  readonly ids: number[] = []

  add(id: number): void {
    this.count++
    if (this.ids.length < shownIds) this.ids.push(id)
  }

  get text(): string {
    const ids = `${this.ids.join(', ')}${this.count > shownIds ? ', …' : ''}`
    return this.count === 1 ? `1 user (id ${ids})` : `${this.count} users (ids ${ids})`
  }
}

/** Reads all users of the configured database, and says which stored values the configuration does not allow. */
export async function findingsInData(config: Config): Promise<string[]> {
  const { database: where } = config
  if (where.file !== null && !existsSync(where.file)) return []
  const database = await openDatabase({ ...where, file: where.file ?? undefined })
  try {
    return await findingsIn(database, config)
  } finally {
    await database.close()
  }
}

async function findingsIn(database: Database, config: Config): Promise<string[]> {
  const { users, groups } = config
  const found = new Map<string, Affected>()
  const note = (problem: string, id: number) => {
    const affected = found.get(problem) ?? new Affected()
    affected.add(id)
    found.set(problem, affected)
  }
  const names = await allGroups(database, config)
  for await (const { id, role, fields = {} } of eachUser(database)) {
    for (const [name, declared] of Object.entries(users.fields)) {
      const value = fields[name]
      if (value !== undefined && !isValidField(declared, value))
        note(`users.fields.${name}.schema does not allow the value of`, id)
      if (value === undefined && declared.registration === 'required')
        note(`users.fields.${name} is required, and missing for`, id)
    }
    for (const name of Object.keys(fields)) {
      if (!Object.hasOwn(users.fields, name)) note(`users.fields has no ${name}, which is stored for`, id)
    }
    if (groups.include_role && names.has(role)) note(`groups.include_role: "${role}" is a group, and the role of`, id)
  }
  return [...found].map(([problem, affected]) => `${problem} ${affected.text}`)
}
