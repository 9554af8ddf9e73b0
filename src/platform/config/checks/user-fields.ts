import type { Report } from '../findings.ts'
import type { Config } from '../schema.ts'
import { reservedClaims } from './reserved-claims.ts'

/** Rules about `users.fields`, and about the fields of providers. */
export const userFieldChecks = [schemasAreConsistent, registrationIsWritable, claimsAreFree, providersMayWrite] as const

type Schema = Config['users']['fields'][string]['schema']

/** Keywords by type. */
const keywordsOf: Readonly<Record<string, readonly (keyof Schema)[]>> = {
  string: ['enum', 'minLength', 'maxLength', 'pattern'],
  array: ['enum', 'minLength', 'maxLength', 'pattern', 'maxItems'],
  integer: ['minimum', 'maximum'],
  number: ['minimum', 'maximum'],
  boolean: [],
}

function schemasAreConsistent({ users }: Config, report: Report): void {
  for (const [name, { schema }] of Object.entries(users.fields)) {
    const path = ['users', 'fields', name, 'schema']
    for (const [key, value] of Object.entries(schema) as [keyof Schema, unknown][]) {
      const allowed = keywordsOf[schema.type]
      if (key === 'type' || value === null || !allowed || allowed.includes(key)) continue
      report([...path, key], `does not apply to the type ${schema.type}; remove it`)
    }
    if ((schema.maxLength ?? 0) > 1_000) report([...path, 'maxLength'], 'must be at most 1000')
    if ((schema.maxItems ?? 0) > 100) report([...path, 'maxItems'], 'must be at most 100')
    if (schema.pattern !== null && !isPattern(schema.pattern)) {
      report([...path, 'pattern'], `must be a regular expression (found "${schema.pattern}")`)
    }
  }
}

function isPattern(text: string): boolean {
  try {
    return Boolean(new RegExp(text, 'u'))
  } catch {
    return false
  }
}

function registrationIsWritable({ users }: Config, report: Report): void {
  for (const [name, { registration, write }] of Object.entries(users.fields)) {
    if (registration === null || write.includes('user')) continue
    report(['users', 'fields', name, 'registration'], 'requires that write contains user')
  }
}

function claimsAreFree({ users }: Config, report: Report): void {
  const owners = new Map<string, string>()
  for (const [name, { claim }] of Object.entries(users.fields)) {
    if (claim === null) continue
    const path = ['users', 'fields', name, 'claim']
    const owner = owners.get(claim)
    if (reservedClaims.has(claim)) report(path, `must not be ${claim}, which is reserved`)
    else if (owner !== undefined) report(path, `belongs to users.fields.${owner} already (found "${claim}")`)
    owners.set(claim, owner ?? name)
  }
}

function providersMayWrite({ users, social }: Config, report: Report): void {
  for (const [id, { fields }] of Object.entries(social)) {
    for (const name of Object.keys(fields)) {
      const path = ['social', id, 'fields', name]
      const field = Object.hasOwn(users.fields, name) ? users.fields[name] : undefined
      if (!field) report(path, `must be a field of users.fields (found "${name}")`)
      else if (!field.write.includes('provider'))
        report(path, `requires that users.fields.${name}.write contains provider`)
    }
  }
}
