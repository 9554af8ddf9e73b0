import { CommandError, type CommandOptions, command } from '../../../contract/command.ts'
import { findUserByEmail, findUserById } from '../../../identity/users.ts'
import { claimsOf, idTokenClaimsOf } from '../clients/claims.ts'
import { Registry } from '../clients/clients.ts'
import { identityScopes } from '../clients/scopes.ts'
import { accessTokenClaims } from './user-claims.ts'

const options = {
  client: { value: 'client_id', required: true, description: 'The client' },
  email: { value: 'address', description: 'The email address of the user' },
  id: {
    value: 'id',
    range: [1, Number.MAX_SAFE_INTEGER],
    description: 'The id of the user, instead of the address',
    excludes: 'email',
  },
  scope: { value: 'scopes', description: 'The scopes, separated by spaces. By default all that the client can get' },
} as const satisfies CommandOptions

/** Removes claims without a value, as JSON does. */
const given = (claims: object): Record<string, unknown> => JSON.parse(JSON.stringify(claims))

/** The command that shows the tokens of a user. */
export const previewCommand = command({
  name: 'claims:preview',
  summary: 'Print what the tokens of a client would say about a user',
  details:
    'Prints the claims of the ID token, of UserInfo, and of the access token for each audience, as JSON. Without those of the sign-in, such as auth_time and acr, and of the hook before_token. Issues no token.',
  options,
  run: async ({ database, config, print, now }, { options: { client: id = '', email, id: userId, scope } }) => {
    const current = config.current()
    const registry = new Registry(current)
    const client = registry.client(id)
    if (!client) throw new CommandError(`Unknown client ${id}. "svc client:list" shows all.`)
    if (email === undefined && userId === undefined) throw new CommandError('Name a user with --email or --id.')
    const found =
      userId === undefined ? await findUserByEmail(database, email ?? '') : await findUserById(database, userId)
    if (!found)
      throw new CommandError(
        `There is no user with ${userId === undefined ? `the address ${email}` : `the id ${userId}`}.`,
      )
    const { user } = found
    const scopes = new Set(scope?.split(' ').filter(Boolean) ?? [...identityScopes(client.scopes), ...client.scopes])
    const names = [...scopes].flatMap((name) => registry.claimsByScope[name] ?? [])
    const byScope = (claims: object) =>
      given(Object.fromEntries(Object.entries(claims).filter(([name]) => names.includes(name))))
    const iat = Math.floor(now / 1000)
    const issued = { iss: current.app.url, sub: String(user.id), iat }
    const isOpenId = scopes.has('openid')
    const preview = {
      id_token: isOpenId ? { ...issued, aud: id, ...byScope(idTokenClaimsOf(current, user, registry, id)) } : null,
      userinfo: isOpenId ? byScope(claimsOf(user, current, registry, id)) : null,
      access_tokens: registry.targets(id).map(({ audience, tokenScopes, ttl }) => {
        const own = [...scopes].filter((name) => tokenScopes.has(name))
        const facts = { clientId: id, aud: audience, scopes: new Set(own) }
        const exp = iat + Math.floor(ttl / 1000)
        const claims = accessTokenClaims(user, current, registry, facts)
        return given({ ...issued, aud: audience, client_id: id, scope: own.join(' '), exp, ...claims })
      }),
    }
    print(JSON.stringify(preview, null, 2))
  },
})
