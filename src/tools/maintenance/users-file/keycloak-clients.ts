import { Document, isNode } from 'yaml'
import { secretHash } from '../../../features/oauth/clients/clients.ts'
import { isMapping } from '../../../platform/config/walk.ts'
import { FileError, jsonOf, textOf, textsOf } from './converted.ts'

/** Clients that every realm has for Keycloak itself. */
const builtIn = ['account', 'account-console', 'admin-cli', 'broker', 'realm-management', 'security-admin-console']

/** Prints the clients of a realm export as a fragment of the configuration, with notes about what an administrator must do. */
export function keycloakClients(text: string): string {
  const content = jsonOf(text)
  const clients = isMapping(content) ? content.clients : undefined
  if (!Array.isArray(clients))
    throw new FileError('The file has no clients. Export the whole realm with "kc.sh export".')
  const document = new Document({ clients: [] as unknown[] })
  const skipped: string[] = []
  for (const given of clients.filter(isMapping)) {
    const id = textOf(given.clientId)
    if (id === null || builtIn.includes(id)) continue
    const { client, notes, problem } = clientOf(id, given)
    if (problem !== null) {
      skipped.push(` ${id}: ${problem}`)
      continue
    }
    const node = document.createNode(client)
    if (isNode(node) && notes.length > 0) node.commentBefore = notes.map((note) => ` ${note}`).join('\n')
    document.addIn(['clients'], node)
  }
  document.commentBefore = [
    ' Clients of Keycloak. Add the scopes of each client, and check it with svc config:check.',
    ...(skipped.length > 0 ? [' Skipped:', ...skipped] : []),
  ].join('\n')
  return document.toString({ lineWidth: 0 }).trimEnd()
}

const isOn = (value: unknown): boolean => value === true || value === 'true'

function grantsOf(given: Record<string, unknown>, attributes: Record<string, unknown>): string[] {
  // It only checks tokens, whatever flows its settings still name.
  if (isOn(given.bearerOnly)) return []
  return [
    ...(isOn(given.standardFlowEnabled) ? ['authorization_code', 'refresh_token'] : []),
    ...(isOn(given.serviceAccountsEnabled) ? ['client_credentials'] : []),
    ...(isOn(attributes['oauth2.device.authorization.grant.enabled']) ? ['device_code'] : []),
    ...(isOn(given.directAccessGrantsEnabled) && !isOn(given.publicClient) ? ['password'] : []),
  ]
}

function clientOf(id: string, given: Record<string, unknown>) {
  const attributes = isMapping(given.attributes) ? given.attributes : {}
  const isPublic = isOn(given.publicClient)
  const grants = grantsOf(given, attributes)
  const base = textOf(given.rootUrl) ?? ''
  const uris = textsOf(given.redirectUris).map((uri) => (uri.startsWith('/') ? base + uri : uri))
  const logoutUris = (textOf(attributes['post.logout.redirect.uris']) ?? '').split('##').filter((uri) => uri !== '')
  const [exact, logout] = [uris, logoutUris].map((list) => list.filter((uri) => !uri.includes('*') && uri !== '+'))
  const secret = textOf(given.secret)
  const method = textOf(given.clientAuthenticatorType) ?? 'client-secret'
  const usesSecret = method.startsWith('client-secret')
  const hasSecret = !isPublic && usesSecret && secret !== null && !/^\*+$/.test(secret)
  const backchannel = textOf(attributes['backchannel.logout.url'])
  const notes = [
    ...(uris.length > (exact?.length ?? 0)
      ? [
          'svc needs exact redirect URIs. Replace those with a *:',
          ...uris.filter((uri) => uri.includes('*')).map((uri) => `  ${uri}`),
        ]
      : []),
    ...(!isPublic && !usesSecret
      ? [`It authenticates with ${method}: see token_endpoint_auth_method and jwks_uri.`]
      : []),
    ...(!isPublic && usesSecret && !hasSecret ? ['The export has no secret. Create one: svc client:secret'] : []),
    ...(logoutUris.length > (logout?.length ?? 0) ? ['svc needs exact post_logout_redirect_uris. Complete them.'] : []),
    ...(isOn(given.implicitFlowEnabled) ? ['svc has no implicit flow. Use authorization_code with PKCE.'] : []),
  ]
  const problem =
    given.enabled === false
      ? 'it is disabled'
      : given.protocol !== undefined && given.protocol !== 'openid-connect'
        ? `svc does not speak ${String(given.protocol)}`
        : grants.length === 0
          ? 'it has no flow that svc supports'
          : null
  const client = {
    client_id: id,
    ...(textOf(given.name) === null ? {} : { name: textOf(given.name) }),
    type: isPublic ? 'public' : 'confidential',
    ...(hasSecret ? { secret_hash: secretHash(secret) } : {}),
    ...(exact?.length ? { redirect_uris: exact } : {}),
    ...(logout?.length ? { post_logout_redirect_uris: logout } : {}),
    ...(backchannel === null ? {} : { backchannel_logout_uri: backchannel }),
    grants,
  }
  return { client, notes, problem }
}
