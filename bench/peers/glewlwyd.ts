import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { freePort } from '../../test/support/port.ts'
import { benchClients, benchSecret, formRequest, jwtRequests, refreshing } from '../support/oauth-requests.ts'
import { withClient } from '../support/postgresql.ts'
import type { Running } from '../support/processes.ts'
import { host, password } from '../support/requests.ts'
import { emailOf } from '../support/rows.ts'
import { type Peer, requestTokens, type TokenPair } from './peer.ts'
import type { PeerTools } from './tools.ts'

const origin = `https://${host}`
const protocol = '/api/oidc'
const app = { client_id: benchClients.app, client_secret: benchSecret }
const robot = { client_id: benchClients.robot, client_secret: benchSecret }

/** The number of users. It is small, because Glewlwyd compares a password with the hashes of all users. */
const owners = 10

/** Signs in as the administrator of a new database and returns a function that posts to the API. */
async function administrator({ port }: Running) {
  const post = (path: string, body: object, cookie = '') =>
    fetch(`http://127.0.0.1:${port}/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie },
      body: JSON.stringify(body),
    })
  const signedIn = await post('/auth', { username: 'admin', password: 'password' })
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0]
  return async (path: string, body: object) => {
    const response = await post(path, body, cookie)
    const text = await response.text()
    if (response.status !== 200) throw new Error(`Glewlwyd answered ${response.status} to ${path}: ${text}`)
  }
}

/** Adds the OpenID Connect plugin, the clients and the users with tokens. */
async function setUp(server: Running): Promise<void> {
  const add = await administrator(server)
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const off = ['code', 'token', 'id-token', 'none', 'device'].map((type) => [`auth-type-${type}-enabled`, false])
  const on = ['password', 'client', 'refresh'].map((type) => [`auth-type-${type}-enabled`, true])
  await add('/scope/', { name: 'orders', display_name: 'orders', password_required: false })
  await add('/mod/plugin/', {
    module: 'oidc',
    name: 'oidc',
    display_name: 'oidc',
    order_rank: 0,
    readonly: false,
    parameters: {
      iss: origin,
      'jwt-type': 'ecdsa',
      'jwt-key-size': '256',
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: publicKey.export({ type: 'spki', format: 'pem' }),
      'access-token-duration': 7200,
      'refresh-token-duration': 2_592_000,
      'code-duration': 60,
      'refresh-token-rolling': false,
      'refresh-token-one-use': 'always',
      'allow-non-oidc': true,
      ...Object.fromEntries([...off, ...on]),
      'introspection-revocation-allowed': true,
      'introspection-revocation-allow-target-client': true,
      'subject-type': 'public',
      'name-claim': 'on-demand',
      'name-claim-scope': ['openid'],
      'email-claim': 'on-demand',
      'email-claim-scope': ['openid'],
      'request-parameter-allow': false,
    },
  })
  const clientOf = (client_id: string, authorization_type: string[], scope: string[]) => ({
    client_id,
    client_secret: benchSecret,
    name: client_id,
    enabled: true,
    confidential: true,
    authorization_type,
    token_endpoint_auth_method: ['client_secret_post'],
    scope,
    redirect_uri: [`${origin}/callback`],
  })
  await add('/client/', clientOf(robot.client_id, ['client_credentials'], ['orders']))
  await add('/client/', clientOf(app.client_id, ['password', 'refresh_token'], []))
  for (let user = 1; user <= owners; user++) {
    const email = emailOf(user)
    await add('/user/', { username: email, name: `User ${user}`, email, password, enabled: true, scope: ['openid'] })
  }
}

async function userTokens({ port }: Running, count: number): Promise<TokenPair[]> {
  const found = []
  for (let i = 0; i < count; i++) {
    const grant = { grant_type: 'password', username: emailOf(1 + (i % owners)), password, scope: 'openid', ...app }
    found.push(await requestTokens(`http://127.0.0.1:${port}${protocol}/token`, grant))
  }
  return found
}

const token = (fields: Record<string, string>) => formRequest(`${protocol}/token`, fields)

const accessTokens = async (server: Running, count: number) =>
  (await userTokens(server, count)).map(({ access }) => access)

/** The version of the package, from its changelog. */
function versionOf(root: string): string {
  const changes = gunzipSync(readFileSync(join(root, 'usr/share/doc/glewlwyd/changelog.Debian.gz'))).toString()
  return /\(([^-)]+)/.exec(changes)?.[1] ?? 'unknown'
}

/** Glewlwyd on PostgreSQL, from the packages of Debian. */
export const glewlwyd = (tools: Pick<PeerTools, 'glewlwyd'>): Peer => ({
  name: 'glewlwyd',
  title: 'Glewlwyd',
  version: versionOf(tools.glewlwyd),
  warmUp: 2,
  store: 'PostgreSQL',
  async prepare(bench) {
    const root = tools.glewlwyd
    const url = await (await bench.postgresql()).create('glewlwyd')
    const schema = join(root, 'usr/share/doc/glewlwyd/database/init.postgre.sql.gz')
    await withClient(url, async (client) => {
      await client.query('CREATE EXTENSION pgcrypto')
      await client.query(gunzipSync(readFileSync(schema)).toString())
    })
    const start = async () => {
      const port = await freePort()
      const file = join(bench.folder, `glewlwyd-${port}.conf`)
      writeFileSync(file, configuration(root, port, new URL(url)))
      const command = join(root, 'usr/bin/glewlwyd')
      const env = { LD_LIBRARY_PATH: join(root, 'usr/lib/x86_64-linux-gnu') }
      return bench.start({ command, args: ['-c', file], port, ready: '/config', env })
    }
    const first = await start()
    await setUp(first)
    await first.stop()
    await withClient(url, (client) => client.query('VACUUM ANALYZE'))
    return start
  },
  requests: {
    'client-credentials': () => [token({ grant_type: 'client_credentials', scope: 'orders', ...robot })],
    introspection: async (server, count) =>
      (await accessTokens(server, count)).map((access) =>
        formRequest(`${protocol}/introspect`, { token: access, ...app }),
      ),
    userinfo: async (server, count) => jwtRequests(`${protocol}/userinfo`, await accessTokens(server, count)),
    refresh: async (server, count) =>
      refreshing(
        (await userTokens(server, count)).map(({ refresh }) => refresh),
        (refresh) => token({ grant_type: 'refresh_token', refresh_token: refresh, ...app }),
      ),
  },
})

const configuration = (root: string, port: number, database: URL) => `port=${port}
bind_address="127.0.0.1"
external_url="${origin}"
login_url="login.html"
api_prefix="api"
log_mode="console"
log_level="ERROR"
cookie_secure=0
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
${['user', 'client', 'plugin'].map((name) => `${name}_module_path="${root}/usr/lib/glewlwyd/${name}"`).join('\n')}
user_auth_scheme_module_path="${root}/usr/lib/glewlwyd/scheme"
hash_algorithm="SHA512"
database = { type="postgre" conninfo="host=${database.hostname} port=${database.port} dbname=${database.pathname.slice(1)} user=postgres" }
`
