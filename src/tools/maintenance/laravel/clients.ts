import { Document, isNode } from 'yaml'
import { secretHash } from '../../../features/oauth/clients/clients.ts'
import { oneLine } from './part.ts'
import type { SourceRow } from './source/source.ts'

/** Columns of Passport 12 and 13 by the names that `clientsAsYaml` uses. */
export const passportColumns: Readonly<Record<string, readonly string[]>> = {
  id: ['id'],
  name: ['name'],
  secret: ['secret'],
  redirect_uris: ['redirect_uris', 'redirect'],
  grant_types: ['grant_types'],
  personal_access_client: ['personal_access_client'],
  password_client: ['password_client'],
  revoked: ['revoked'],
}

const grantNames: Readonly<Record<string, string>> = {
  authorization_code: 'authorization_code',
  refresh_token: 'refresh_token',
  client_credentials: 'client_credentials',
  password: 'password',
  'urn:ietf:params:oauth:grant-type:device_code': 'device_code',
}

/** Engines print booleans differently. */
const isTrue = (text: string | null | undefined): boolean => ['1', 't', 'true'].includes(text ?? '')

/** A JSON list of strings, or a comma-separated one. */
function listOf(text: string | null | undefined): string[] {
  try {
    const list: unknown = JSON.parse(text ?? '[]')
    if (Array.isArray(list)) return list.filter((item) => typeof item === 'string')
  } catch {
    // Passport 12.
  }
  return (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function grantsOf(row: SourceRow, isConfidential: boolean): string[] {
  if (typeof row.grant_types === 'string') return listOf(row.grant_types).flatMap((name) => grantNames[name] ?? [])
  if (isTrue(row.personal_access_client)) return []
  if (isTrue(row.password_client)) return ['password', 'refresh_token']
  if (listOf(row.redirect_uris).length === 0) return isConfidential ? ['client_credentials'] : []
  return ['authorization_code', 'refresh_token', ...(isConfidential ? ['client_credentials'] : [])]
}

const isHash = (secret: string): boolean => /^\$(2[abxy]|argon2)/.test(secret)

/** Clients of Laravel Passport as a fragment of the configuration, with notes about what an administrator must do. */
export function clientsAsYaml(rows: readonly SourceRow[]): string {
  const document = new Document({ clients: [] as unknown[] })
  const skipped: string[] = []
  for (const row of rows) {
    const [id, secret] = [oneLine(row.id), row.secret ?? '']
    const grants = grantsOf(row, secret !== '')
    const name = oneLine(row.name) || id
    if (isTrue(row.revoked) || grants.length === 0) {
      skipped.push(` ${name} (${id}): ${isTrue(row.revoked) ? 'it is revoked' : 'svc supports none of its grants'}`)
      continue
    }
    const { client, notes } = clientOf({ id, name, secret, grants, redirects: listOf(row.redirect_uris) })
    const node = document.createNode(client)
    if (isNode(node) && notes.length > 0) node.commentBefore = notes.join('\n')
    document.addIn(['clients'], node)
  }
  document.commentBefore = [
    ' Clients of Laravel Passport. Add the scopes of each client, and check it with svc config:check.',
    ...(skipped.length > 0 ? [' Skipped:', ...skipped] : []),
  ].join('\n')
  return document.toString({ lineWidth: 0 }).trimEnd()
}

interface Client {
  id: string
  name: string
  secret: string
  grants: readonly string[]
  redirects: readonly string[]
}

function clientOf({ id, name, secret, grants, redirects }: Client): { client: object; notes: string[] } {
  const isReserved = /^\d+$/.test(id)
  const notes: string[] = []
  if (isReserved) notes.push(` The client_id was ${id}. svc reserves numbers, so change it in the client too.`)
  if (isHash(secret)) {
    notes.push(
      ' Passport stored only a slow hash of the secret, which svc cannot check. Create a new one: svc client:secret',
    )
  }
  const client = {
    client_id: isReserved ? `client-${id}` : id,
    name,
    type: secret === '' ? 'public' : 'confidential',
    ...(secret !== '' && !isHash(secret) ? { secret_hash: secretHash(secret) } : {}),
    ...(redirects.length > 0 ? { redirect_uris: redirects } : {}),
    grants,
  }
  return { client, notes }
}
