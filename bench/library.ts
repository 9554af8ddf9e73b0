// The OAuth library alone, with its store in memory: node bench/library.ts <port>. Only client credentials.
import Provider from 'oidc-provider'
import { benchClients, benchSecret } from './support/oauth-requests.ts'

const audience = 'https://auth.example.com'
const port = Number(process.argv[2])
const { privateKey } = await crypto.subtle
  .generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
  .then(async (pair) => ({ privateKey: await crypto.subtle.exportKey('jwk', pair.privateKey) }))

const provider = new Provider(audience, {
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
  ],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  routes: { token: '/oauth/token' },
  cookies: { keys: [benchSecret] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
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
  if (ctx.path !== '/ready') return next()
  ctx.body = 'ready'
})
provider.listen(port, '127.0.0.1')
