import { duration, flag, list, section, text } from './kinds.ts'

/** Scope of clients, and ability of API tokens, that may use the admin API. `*` does not include it. */
export const adminScope = 'svc:admin'

/** The same for SCIM. */
export const scimScope = 'svc:scim'

/** The same for streams of signals about all accounts. */
export const signalsScope = 'svc:signals'

/** Scopes with which a caller manages the accounts of others, or learns of them. */
export const managementScopes: readonly string[] = [adminScope, scimScope, signalsScope]

/** Tests for a scope with which a caller manages the accounts of others. No wildcard includes it, and no user can get it. */
export const isManagementScope = (name: string): boolean => managementScopes.includes(name)

/** Administrators. */
export const adminSections = {
  admin: section('The admin API below /admin/v1, and the pages at /admin. docs/admin.md describes both.', {
    roles: list(text({ maxLength: 255, description: 'A role.' }), {
      default: [],
      maxItems: 100,
      example: ['admin'],
      description:
        'The roles of administrators. Users with one of them may use the admin API with their session, and with API tokens that name the ability svc:admin. Empty by default: no user may. OAuth clients need the scope svc:admin instead, and only the grant client_credentials. The same holds for SCIM with svc:scim, and for signals with svc:signals.',
    }),
    pages: flag({
      default: false,
      description:
        'Whether svc has pages for administrators at /admin. They require a session of a user with a role of admin.roles, a second factor or a passkey, and a recent confirmation.',
    }),
    impersonation: section('Administrators who act as a user, to see what the user sees.', {
      roles: list(text({ maxLength: 255, description: 'A role.' }), {
        default: [],
        maxItems: 100,
        example: ['admin'],
        description:
          'Administrators with one of these roles may act as a user, through the admin pages. Each role must also be in admin.roles. Empty by default: no administrator may. Users with a role of admin.roles are excluded: no administrator can act as them.',
      }),
      max: duration({
        default: '15m',
        description: 'How long an administrator can act as a user before it ends.',
      }),
    }),
  }),
}
