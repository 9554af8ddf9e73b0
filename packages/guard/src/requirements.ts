import { type Caller, challengesOf } from './caller.ts'
import { forbidden, type GuardError } from './errors.ts'

/** Returns the error if a caller may not continue, or null. */
export type Requirement = (caller: Caller) => GuardError | null

// RFC 6749 section 3.3. Other characters would break the header of the answer.
const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** Returns the names, which must be scopes. Throws a TypeError otherwise. */
export function checkedNames(called: string, names: readonly string[]): readonly string[] {
  // Without names, `every` would allow every caller.
  if (names.length === 0) throw new TypeError(`${called} requires at least one name.`)
  for (const name of names) {
    if (typeof name !== 'string' || !scopeToken.test(name)) {
      throw new TypeError(`${called}: ${JSON.stringify(name)} is not a valid name.`)
    }
  }
  return [...names]
}

/** Requires all of the abilities. */
export function abilities(...names: string[]): Requirement {
  const wanted = checkedNames('abilities()', names)
  return (caller) => (wanted.every((name) => caller.can(name)) ? null : challengesOf(caller).insufficientScope(wanted))
}

/** Requires one of the abilities. */
export function ability(...names: string[]): Requirement {
  const wanted = checkedNames('ability()', names)
  return (caller) => (wanted.some((name) => caller.can(name)) ? null : challengesOf(caller).insufficientScope(wanted))
}

/** Requires one of the roles. */
export function role(...names: string[]): Requirement {
  const wanted = checkedNames('role()', names)
  return (caller) => (caller.role !== null && wanted.includes(caller.role) ? null : forbidden())
}
