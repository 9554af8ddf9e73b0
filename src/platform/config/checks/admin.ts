import type { Path, Report } from '../findings.ts'
import type { Config } from '../schema.ts'
import { isManagementScope } from '../sections/admin.ts'

/** Rules that keep users from becoming administrators by themselves. */
export const adminChecks = [
  newUsersAreNoAdministrators,
  impersonatorsAreAdministrators,
  scopeIsReserved,
  defaultTokensAreNoAdministrators,
  clientsAreMachines,
] as const

function newUsersAreNoAdministrators({ admin, registration }: Config, report: Report): void {
  if (!admin.roles.includes(registration.role)) return
  report(['registration', 'role'], `must not be a role of admin.roles (found "${registration.role}")`)
}

function impersonatorsAreAdministrators({ admin }: Config, report: Report): void {
  for (const [index, role] of admin.impersonation.roles.entries()) {
    if (admin.roles.includes(role)) continue
    report(['admin', 'impersonation', 'roles', index], `must be a role of admin.roles (found "${role}")`)
  }
}

function scopeIsReserved({ scopes }: Config, report: Report): void {
  for (const name of Object.keys(scopes).filter(isManagementScope))
    report(['scopes', name], 'is reserved for the admin API, SCIM and signals; remove it')
}

function defaultTokensAreNoAdministrators({ tokens }: Config, report: Report): void {
  for (const [index, name] of tokens.default_abilities.entries()) {
    if (!isManagementScope(name)) continue
    report(['tokens', 'default_abilities', index], `must not contain ${name}; give this ability to single tokens`)
  }
}

/** Allows only the grant client_credentials, so that no user can get a token with the scope. */
function clientsAreMachines({ clients, oauth }: Config, report: Report): void {
  for (const [at, { scopes, grants, audience }] of clients.entries()) {
    const scope = scopes.find(isManagementScope)
    if (scope === undefined) continue
    const path: Path = ['clients', at]
    const other = grants.find((grant) => grant !== 'client_credentials')
    if (other !== undefined)
      report(
        [...path, 'grants'],
        `must be [client_credentials] for a client with the scope ${scope} (found "${other}")`,
      )
    if (audience !== null && audience !== oauth.audience)
      report([...path, 'audience'], `must be oauth.audience for a client with the scope ${scope} (found "${audience}")`)
  }
}
