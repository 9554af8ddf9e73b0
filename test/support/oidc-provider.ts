import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { buffer, text } from 'node:stream/consumers'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import Provider, { type JWKS } from 'oidc-provider'
import type { Test } from 'tap'
import { memoryAdapter } from './memory-adapter.ts'
import { freePort } from './process.ts'

/** Accounts that can sign in there. */
export interface ProviderAccount {
  sub: string
  email?: string
  email_verified?: boolean
  name?: string
}

/** A response before it is sent. */
export interface Answer {
  status: number
  headers: Headers
  body: Buffer | string
}

/** The request of the relying party. */
export interface Call {
  method: string
  path: string
  headers: IncomingMessage['headers']
  form: URLSearchParams
}

type Change = (answer: Answer) => Answer | Promise<Answer>

const clientSecret = 'the-secret-of-svc-at-acme'

/** Listens on loopback until the test ends. */
export async function listen(t: Test, port: number, handle: RequestListener): Promise<void> {
  const server = createServer(handle)
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
}

/** The page that asks for the user, and for consent. */
export const allowPage = (action: string, names: Iterable<string>): string => {
  const options = [...names].map((name) => `<option>${name}</option>`).join('')
  return `<!doctype html><html lang="en"><title>Acme</title><form method="post" action="${action}">
<label>Who are you?<select name="login" id="login">${options}</select></label>
<button name="decision" value="allow" id="allow">Allow</button><button name="decision" value="deny" id="deny">Deny</button>
</form></html>`
}

/** A foreign OpenID provider on loopback, which can misbehave. */
export class OidcProvider {
  readonly issuer: string
  readonly accounts: Map<string, ProviderAccount>
  /** Every call to its endpoints, oldest first. */
  readonly calls: Call[] = []
  /** Whether the provider responds. */
  isUp = true
  /** Changes the response of an endpoint, by path. */
  readonly instead = new Map<string, Change>()
  readonly #inner: string
  readonly #key: CryptoKey

  private constructor(issuer: string, inner: string, key: CryptoKey, accounts: ProviderAccount[]) {
    this.issuer = issuer
    this.#inner = inner
    this.#key = key
    this.accounts = new Map(accounts.map((account) => [account.sub, account]))
  }

  static async start(t: Test, accounts: ProviderAccount[], redirectUris: string[]): Promise<OidcProvider> {
    const [port, innerPort] = [await freePort(), await freePort()]
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const key = { ...(await exportJWK(privateKey)), alg: 'ES256', kid: 'acme-1', use: 'sig' }
    const [issuer, inner] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${innerPort}`]
    const own = new OidcProvider(issuer, inner, privateKey, accounts)
    await listen(t, innerPort, own.#library({ keys: [key] }, redirectUris))
    await listen(
      t,
      port,
      (request, response) => void own.#relay(request, response).catch(() => request.socket.destroy()),
    )
    return own
  }

  /** Its entry in svc's configuration. */
  get settings() {
    return { issuer: this.issuer, client_id: 'svc', client_secret: clientSecret, allow_private_addresses: true }
  }

  /** Changes the claims of the ID tokens, which are signed as usual or with an unknown key. */
  changeIdToken(change: (claims: JWTPayload) => JWTPayload, by: 'its own key' | 'another key' = 'its own key'): void {
    const other = generateKeyPair('ES256').then(({ privateKey }) => privateKey)
    this.#resign(change, by === 'its own key' ? this.#key : other, 'acme-1')
  }

  #resign(change: (claims: JWTPayload) => JWTPayload, key: CryptoKey | Promise<CryptoKey>, kid: string | null): void {
    this.instead.set('/token', async (answer) => {
      const body = JSON.parse(String(answer.body))
      if (!body.id_token) return answer
      const claims = JSON.parse(Buffer.from(body.id_token.split('.')[1], 'base64url').toString())
      const token = new SignJWT(change(claims)).setProtectedHeader({ alg: 'ES256', ...(kid === null ? {} : { kid }) })
      return { ...answer, body: JSON.stringify({ ...body, id_token: await token.sign(await key) }) }
    })
  }

  /**
   * Signs ID tokens with a new key from now on; returns a function that publishes it in place of the old one. With null,
   * neither the tokens nor the published key have an id.
   */
  async rotateKey(kid: string | null = 'acme-2'): Promise<() => void> {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const jwk = { ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', ...(kid === null ? {} : { kid }) }
    this.#resign((claims) => claims, privateKey, kid)
    return () => this.instead.set('/jwks', (answer) => ({ ...answer, body: JSON.stringify({ keys: [jwk] }) }))
  }

  /** Changes the profile. */
  changeUserinfo(change: (claims: Record<string, unknown>) => unknown): void {
    this.instead.set('/me', (answer) => ({ ...answer, body: JSON.stringify(change(JSON.parse(String(answer.body)))) }))
  }

  /** Sends the profile as a JWT, signed with the key of the ID tokens or with another one. */
  signUserinfo(by: 'its own key' | 'another key' = 'its own key'): void {
    const key = by === 'its own key' ? this.#key : generateKeyPair('ES256').then(({ privateKey }) => privateKey)
    this.instead.set('/me', async ({ status, headers, body }) => {
      const token = new SignJWT(JSON.parse(String(body))).setProtectedHeader({ alg: 'ES256', kid: 'acme-1' })
      const signed = new Headers(headers)
      signed.set('content-type', 'application/jwt')
      return { status, headers: signed, body: await token.sign(await key) }
    })
  }

  /** The calls to one path. */
  callsTo(path: string): Call[] {
    return this.calls.filter((call) => call.path === path)
  }

  /** The actual provider. */
  #library(jwks: JWKS, redirectUris: string[]): RequestListener {
    const provider = new Provider(this.issuer, {
      adapter: memoryAdapter(),
      jwks,
      clients: [
        {
          client_id: 'svc',
          client_secret: clientSecret,
          redirect_uris: redirectUris,
          id_token_signed_response_alg: 'ES256',
          token_endpoint_auth_method: 'client_secret_basic',
        },
      ],
      clientAuthMethods: ['client_secret_basic'],
      cookies: { keys: ['acme'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ ...this.accounts.get(sub), sub }) }),
      loadExistingGrant: async (ctx) => {
        const [clientId, accountId] = [ctx.oidc.client?.clientId ?? '', ctx.oidc.session?.accountId ?? '']
        const known = ctx.oidc.session?.grantIdFor(clientId)
        const found = known && (await ctx.oidc.provider.Grant.find(known))
        if (found) return found
        const grant = new ctx.oidc.provider.Grant({ clientId, accountId })
        grant.addOIDCScope('openid email profile')
        await grant.save()
        return grant
      },
      ttl: { AccessToken: 600, AuthorizationCode: 60, IdToken: 600, Interaction: 600, Session: 600, Grant: 600 },
    })
    provider.proxy = true
    const callback = provider.callback()
    return async (request, response) => {
      if (!request.url?.startsWith('/interaction/')) return callback(request, response)
      if (request.method !== 'POST') {
        response.setHeader('content-type', 'text/html')
        response.end(allowPage(request.url, this.accounts.keys()))
        return
      }
      const form = new URLSearchParams(await text(request))
      const isAllowed = form.get('decision') === 'allow'
      const result = isAllowed ? { login: { accountId: form.get('login') ?? '' } } : { error: 'access_denied' }
      await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
    }
  }

  async #relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request
    const body = await buffer(request)
    const { pathname: path } = new URL(url, this.issuer)
    const form = new URLSearchParams(body.toString())
    this.calls.push({ method, path, headers, form })
    if (!this.isUp) throw new Error('nothing answers')
    const sent = new Headers({ 'x-forwarded-host': new URL(this.issuer).host, 'x-forwarded-proto': 'http' })
    for (const name of ['accept', 'authorization', 'content-type', 'cookie']) {
      const value = headers[name]
      if (typeof value === 'string') sent.set(name, value)
    }
    const options = { method, headers: sent, redirect: 'manual', ...(body.length > 0 ? { body } : {}) } as const
    const answer = await fetch(this.#inner + url, options)
    const plain: Answer = {
      status: answer.status,
      headers: answer.headers,
      body: Buffer.from(await answer.arrayBuffer()),
    }
    const told = (await this.instead.get(path)?.(plain)) ?? plain
    response.statusCode = told.status
    for (const [name, value] of told.headers) {
      if (!['set-cookie', 'content-length', 'transfer-encoding', 'connection', 'keep-alive'].includes(name)) {
        response.setHeader(name, value)
      }
    }
    response.setHeader('set-cookie', told.headers.getSetCookie())
    response.end(told.body)
  }
}
