import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/support/port.ts'
import { benchClients, benchSecret, formRequest, jwtRequests, refreshing } from '../support/oauth-requests.ts'
import type { Running } from '../support/processes.ts'
import { host, password, passwordHash } from '../support/requests.ts'
import { emailOf } from '../support/rows.ts'
import { type Peer, requestTokens, type TokenPair, users } from './peer.ts'
import { keycloakVersion, type PeerTools } from './tools.ts'

const realm = '/realms/bench'
const protocol = `${realm}/protocol/openid-connect`
const app = { client_id: benchClients.app, client_secret: benchSecret }
const robot = { client_id: benchClients.robot, client_secret: benchSecret }
const grantOf = (user: number, scope: string) => ({
  grant_type: 'password',
  username: emailOf(user),
  password,
  scope,
  ...app,
})

/** svc's parameters of argon2id. The defaults of Keycloak are 7 MiB and five passes. */
const hashingFlags = ['memory=19456', 'iterations=2', 'parallelism=1'].map(
  (parameter) => `--spi-password-hashing--argon2--${parameter}`,
)

/** A user with svc's argon2id hash, in the format of Keycloak. */
function userOf(number: number, phc: string): object {
  const [salt = '', hash = ''] = phc.split('$').slice(-2)
  const base64 = (text: string) => Buffer.from(text, 'base64').toString('base64')
  return {
    username: emailOf(number),
    email: emailOf(number),
    emailVerified: true,
    enabled: true,
    firstName: 'User',
    lastName: String(number),
    credentials: [
      {
        type: 'password',
        secretData: JSON.stringify({ value: base64(hash), salt: base64(salt), additionalParameters: {} }),
        credentialData: JSON.stringify({
          hashIterations: 2,
          algorithm: 'argon2',
          additionalParameters: {
            hashLength: ['32'],
            memory: ['19456'],
            type: ['id'],
            version: ['1.3'],
            parallelism: ['1'],
          },
        }),
      },
    ],
  }
}

const realmOf = (phc: string) => ({
  realm: 'bench',
  enabled: true,
  sslRequired: 'none',
  defaultSignatureAlgorithm: 'ES256',
  // As in svc, a refresh token is valid once, and access tokens last two hours.
  revokeRefreshToken: true,
  refreshTokenMaxReuse: 0,
  accessTokenLifespan: 7200,
  clients: [
    { clientId: robot.client_id, secret: benchSecret, serviceAccountsEnabled: true, standardFlowEnabled: false },
    {
      clientId: app.client_id,
      secret: benchSecret,
      directAccessGrantsEnabled: true,
      standardFlowEnabled: false,
      // Keycloak answers introspection only to clients in the audience.
      protocolMappers: [
        {
          name: 'audience',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-audience-mapper',
          config: { 'included.client.audience': robot.client_id, 'access.token.claim': 'true' },
        },
      ],
    },
  ],
  users: Array.from({ length: users }, (_, i) => userOf(i + 1, phc)),
})

async function userTokens({ port }: Running, count: number, scope = 'openid'): Promise<TokenPair[]> {
  const found = []
  for (let user = 1; user <= count; user++) {
    found.push(await requestTokens(`http://127.0.0.1:${port}${protocol}/token`, grantOf(user, scope)))
  }
  return found
}

const token = (fields: Record<string, string>) => formRequest(`${protocol}/token`, fields)

/** Keycloak on PostgreSQL, with the options of production and the caches of a single node. */
export const keycloak = (tools: Pick<PeerTools, 'keycloak'>): Peer => ({
  name: 'keycloak',
  title: 'Keycloak',
  version: keycloakVersion,
  warmUp: 45,
  store: 'PostgreSQL',
  async prepare(bench) {
    const url = new URL(await (await bench.postgresql()).create('keycloak'))
    const file = join(bench.folder, 'bench-realm.json')
    writeFileSync(file, JSON.stringify(realmOf(passwordHash())))
    const script = join(tools.keycloak, 'bin/kc.sh')
    const database = [
      `--db-url=jdbc:postgresql://${url.host}${url.pathname}`,
      '--db-username=postgres',
      '--db-password=none',
    ]
    // `peers:tools` has run the build step, which selects PostgreSQL and the caches of a single node.
    await bench.run('sh', [script, 'import', '--optimized', '--file', file, ...database])
    return async () => {
      const port = await freePort()
      const flags = [
        `--hostname=https://${host}`,
        '--http-enabled=true',
        '--http-host=127.0.0.1',
        `--http-port=${port}`,
        `--http-management-port=${await freePort()}`,
        '--log-level=WARN',
      ]
      const args = [script, 'start', '--optimized', ...database, ...flags, ...hashingFlags]
      return bench.start({
        command: 'sh',
        args,
        port,
        ready: `${realm}/.well-known/openid-configuration`,
        timeout: 240,
      })
    }
  },
  requests: {
    'client-credentials': () => [token({ grant_type: 'client_credentials', ...robot })],
    introspection: async (server, count) => {
      const tokens = await userTokens(server, count)
      return tokens.map(({ access }) => formRequest(`${protocol}/token/introspect`, { token: access, ...robot }))
    },
    userinfo: async (server, count) =>
      jwtRequests(
        `${protocol}/userinfo`,
        (await userTokens(server, count)).map(({ access }) => access),
      ),
    password: () => Array.from({ length: users }, (_, i) => token(grantOf(i + 1, 'openid'))),
    refresh: async (server, count) => {
      const tokens = (await userTokens(server, count, 'profile email')).map(({ refresh }) => refresh)
      return refreshing(tokens, (refresh) => token({ grant_type: 'refresh_token', refresh_token: refresh, ...app }))
    },
  },
})
