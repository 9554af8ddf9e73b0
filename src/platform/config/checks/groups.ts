import type { Report } from '../findings.ts'
import type { Config } from '../schema.ts'

/** Rules about the section `groups` and the groups of providers. */
export const groupChecks = [rolesAreNoGroups, mappedGroupsExist] as const

/** Roles that the configuration names. */
export const rolesOf = ({ registration, admin, guard }: Config): ReadonlySet<string> =>
  new Set([registration.role, ...admin.roles, ...guard.rules.flatMap(({ roles }) => roles ?? [])])

function rolesAreNoGroups(config: Config, report: Report): void {
  if (!config.groups.include_role) return
  const roles = rolesOf(config)
  for (const name of Object.keys(config.groups.names).filter((one) => roles.has(one))) {
    report(
      ['groups', 'names', name],
      `must not be a group, because "${name}" is a role and groups.include_role is true; rename the group`,
    )
  }
}

function mappedGroupsExist({ social, groups }: Config, report: Report): void {
  for (const [id, provider] of Object.entries(social)) {
    for (const [value, name] of Object.entries(provider.groups?.map ?? {})) {
      if (Object.hasOwn(groups.names, name)) continue
      report(['social', id, 'groups', 'map', value], `must be a group of groups.names (found "${name}")`)
    }
  }
}
