// The OAuth library alone: node bench/library.ts <port> [<database>]. Without a database, its store is in memory. It has no
// sign-in: /tokens?count=<n> returns tokens of users.
import Provider from 'oidc-provider'
// @ts-expect-error: the types of oidc-provider omit this file
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js'
import { postgresqlStore } from './support/library-adapter.ts'
import { benchClients, benchSecret } from './support/oauth-requests.ts'
import { emailOf } from './support/rows.ts'

const audience = 'https://auth.example.com'
const [port, database] = process.argv.slice(2)
const { privateKey } = await crypto.subtle
  .generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
  .then(async (pair) => ({ privateKey: await crypto.subtle.exportKey('jwk', pair.privateKey) }))

// By default, the adapter keeps the last 1,000 to 2,000 entries, and so drops tokens that a later sample needs.
const memory = new Map()
const inMemory = (model: string) => new MemoryAdapter(model, memory)
const adapter = database === undefined ? inMemory : await postgresqlStore(database)

const provider = new Provider(audience, {
  adapter,
  jwks: {
    keys: [
      { kty: 'EC', crv: 'P-256', x: privateKey.x, y: privateKey.y, d: privateKey.d, alg: 'ES256', use: 'sig' },
    ] as never,
  },
  clients: [
    {
      client_id: benchClients.robot,
      client_secret: benchSecret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
    },
    {
      client_id: benchClients.app,
      client_secret: benchSecret,
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [`${audience}/callback`],
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  routes: { token: '/oauth/token', introspection: '/oauth/introspect', userinfo: '/oauth/userinfo' },
  claims: { profile: ['name', 'preferred_username', 'updated_at'], email: ['email', 'email_verified'] },
  findAccount: (_ctx, id) => ({
    accountId: id,
    claims: () => ({ sub: id, ...accountOf(Number(id)) }),
  }),
  rotateRefreshToken: true,
  cookies: { keys: [benchSecret] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'orders:read',
        audience,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 900,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
})
provider.proxy = true
provider.use(async (ctx, next) => {
  if (ctx.path === '/ready') ctx.body = 'ready'
  else if (ctx.path === '/tokens') ctx.body = await Promise.all(userIds(Number(ctx.query.count)).map(tokensOf))
  else return next()
})
provider.listen(Number(port), '127.0.0.1')

const userIds = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i + 1))

/** The claims of a user, as svc has them. */
function accountOf(user: number) {
  const email = emailOf(user)
  return { name: `User ${user}`, preferred_username: email, updated_at: 1, email, email_verified: true }
}

/** An access token for UserInfo, and a refresh token for JWTs of the API. */
async function tokensOf(accountId: string) {
  const client = await provider.Client.find(benchClients.app)
  if (!client) throw new Error('The client is missing.')
  const grant = new provider.Grant({ accountId, clientId: client.clientId })
  grant.addOIDCScope('openid profile email')
  grant.addResourceScope(audience, 'orders:read')
  const grantId = await grant.save()
  const common = { accountId, client, grantId, gty: 'authorization_code' }
  const access = await new provider.AccessToken({ ...common, scope: 'openid profile email' } as never).save()
  const api = { ...common, scope: 'orders:read', resource: audience, rotations: 0 }
  const refresh = await new provider.RefreshToken(api as never).save()
  return { access, refresh }
}
