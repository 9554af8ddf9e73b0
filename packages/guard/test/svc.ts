import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { freePort, runCli, startMain } from '../../../test/support/process.ts'
import { audience } from './issuer.ts'

const ada = { email: 'ada@example.com', password: 'correct horse' }
const secret = 'the secret of this client, 32 bytes'

/** The client of the API at svc. */
export const introspection = { clientId: 'orders-api', clientSecret: secret }

/** A real svc in its own process, with one user, clients and an API. */
export async function startSvc(t: Test) {
  const cwd = mkdtempSync(join(tmpdir(), 'svc-guard-'))
  t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
  const port = await freePort()
  const scopes = ['orders:read', 'orders:write']
  const configuration = {
    app: { url: `http://localhost:${port}` },
    server: { trust_proxy: ['127.0.0.1', '::1'] },
    apis: { orders: { audience, scopes, claims: ['role', 'email'], status_list: true } },
    guard: { rules: [{ hosts: ['orders.example.com'], access: 'authenticated', audience: 'orders' }] },
    clients: [
      { client_id: 'cron', secret, type: 'confidential', grants: ['client_credentials'], scopes },
      { client_id: 'phone', secret, type: 'confidential', grants: ['password'], first_party: true },
      {
        client_id: introspection.clientId,
        secret,
        type: 'confidential',
        grants: ['client_credentials'],
        introspect: true,
      },
    ],
  }
  writeFileSync(join(cwd, 'svc.yaml'), stringify(configuration, { aliasDuplicateObjects: false }))
  const env = { SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long', SVC_CONFIG: 'svc.yaml', PORT: String(port) }
  const create = ['user:create', `--email=${ada.email}`, '--name=Ada', '--verified']
  const created = await runCli(create, { cwd, env, input: `${ada.password}\n` })
  if (created.code !== 0) throw new Error(created.stderr)
  const { url } = await startMain(t, { cwd, env })

  async function send(path: string, init: RequestInit) {
    const response = await fetch(`${url}${path}`, init)
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return { headers: response.headers, body: text ? JSON.parse(text) : null }
  }
  const post = async (path: string, body: object, headers: Record<string, string> = {}) =>
    (
      await send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    ).body
  return {
    url,
    /** Signs in with the password and returns an access token and an ID token. */
    jwts: (): Promise<{ access_token: string; id_token: string }> =>
      post('/oauth/token', {
        ...{ grant_type: 'password', client_id: 'phone', client_secret: secret, scope: 'openid' },
        ...{ username: ada.email, password: ada.password },
      }),
    /** An access token of a machine for the API. */
    machineJwt: async (scope: string): Promise<string> =>
      (
        await post('/oauth/token', {
          grant_type: 'client_credentials',
          client_id: 'cron',
          client_secret: secret,
          scope,
        })
      ).access_token,
    /** Creates an API token; its abilities are `*`. */
    async apiToken(): Promise<string> {
      return (await post('/svc/token', { ...ada, device_name: 'Phone' })).token
    },
    async apiTokenWith(abilities: string[]): Promise<string> {
      const authorization = `Bearer ${await this.apiToken()}`
      return (await post('/api/tokens/create', { token_name: 'CI', abilities }, { authorization })).token
    },
    /** Asks the guard as a proxy does, and returns the header that the API receives. */
    async phantom(token: string): Promise<string> {
      const target = { 'x-forwarded-method': 'GET', 'x-forwarded-proto': 'https', 'x-forwarded-uri': '/orders' }
      const headers = { ...target, 'x-forwarded-host': 'orders.example.com', authorization: `Bearer ${token}` }
      return (await send('/svc/guard', { headers })).headers.get('authorization') ?? ''
    },
    /** Revokes a token of the machine. */
    async revokeJwt(token: string): Promise<void> {
      await post('/oauth/revoke', { token, client_id: 'cron', client_secret: secret })
    },
    revoke: (token: string) =>
      send(`/api/tokens/${token.split('|')[0]}`, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } }),
  }
}
