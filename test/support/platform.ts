import { createServer } from 'node:http'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import type { Test } from 'tap'

interface Key {
  jwk: JWK & { kid: string; alg: string }
  privateKey: CryptoKey
}

/** The issuer of a platform, such as GitHub Actions, with its discovery document and its keys. */
export class Platform {
  readonly url: string
  /** Paths that were requested, with their Authorization headers. */
  readonly calls: { path: string; authorization: string | undefined }[] = []
  /** Status of every answer. */
  status = 200
  /** Replaces the body of a path. */
  readonly instead = new Map<string, unknown>()
  keys: Key[] = []

  private constructor(url: string) {
    this.url = url
  }

  static async start(t: Test, alg = 'RS256'): Promise<Platform> {
    const server = createServer(({ url: path = '/', headers }, response) => {
      platform.calls.push({ path, authorization: headers.authorization })
      const found = platform.instead.get(path) ?? platform.#documents[path]
      // Kubernetes refuses requests for its keys that do not accept their own type.
      const type = path === '/jwks' ? 'application/jwk-set+json' : 'application/json'
      const isAccepted = headers.accept?.includes(type) === true
      response.writeHead(found === undefined ? 404 : isAccepted ? platform.status : 406, { 'content-type': type })
      response.end(JSON.stringify(found ?? {}))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const address = server.address()
    const platform = new Platform(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`)
    await platform.addKey('first', alg)
    return platform
  }

  get #documents(): Record<string, unknown> {
    return {
      '/.well-known/openid-configuration': { issuer: this.url, jwks_uri: `${this.url}/jwks` },
      '/jwks': { keys: this.keys.map(({ jwk }) => jwk) },
    }
  }

  async addKey(kid: string, alg = 'RS256'): Promise<Key> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
    const key = { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
    this.keys.unshift(key)
    return key
  }

  callsTo(path: string): number {
    return this.calls.filter((call) => call.path === path).length
  }

  /** A token of a workload for svc, with overrides; undefined removes a claim. */
  async token(
    claims: Record<string, unknown> = {},
    header: Record<string, unknown> = {},
    key = this.keys[0],
  ): Promise<string> {
    if (!key) throw new Error('The platform has no key.')
    const now = Math.floor(Date.now() / 1000)
    const all: Record<string, unknown> = {
      iss: this.url,
      aud: 'http://localhost:8000',
      sub: 'job:1',
      iat: now,
      nbf: now,
      exp: now + 300,
      ...claims,
    }
    const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
    const jwt = new SignJWT(payload as JWTPayload).setProtectedHeader({
      typ: 'JWT',
      alg: key.jwk.alg,
      kid: key.jwk.kid,
      ...header,
    })
    return jwt.sign(key.privateKey)
  }
}

let runs = 16_000_000_000

/** Claims of a GitHub Actions token, as GitHub documents them. */
export const githubClaims = (more: Record<string, unknown> = {}) => ({
  jti: `5f1d3c1e-${runs}-4d2a`,
  sub: 'repo:acme/shop:ref:refs/heads/main',
  ref: 'refs/heads/main',
  sha: '2f7b1a1c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a',
  repository: 'acme/shop',
  repository_owner: 'acme',
  repository_owner_id: '65',
  run_id: String(runs++),
  run_number: '10',
  run_attempt: '1',
  repository_visibility: 'private',
  repository_id: '74',
  actor_id: '12',
  actor: 'ada',
  workflow: 'deploy',
  head_ref: '',
  base_ref: '',
  event_name: 'push',
  ref_protected: 'true',
  ref_type: 'branch',
  workflow_ref: 'acme/shop/.github/workflows/deploy.yml@refs/heads/main',
  workflow_sha: '2f7b1a1c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a',
  job_workflow_ref: 'acme/shop/.github/workflows/deploy.yml@refs/heads/main',
  job_workflow_sha: '2f7b1a1c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a',
  runner_environment: 'github-hosted',
  ...more,
})

/** Claims of a projected service account token of Kubernetes 1.32. */
export const kubernetesClaims = (more: Record<string, unknown> = {}) => ({
  aud: ['http://localhost:8000'],
  sub: 'system:serviceaccount:prod:deployer',
  jti: '0c1d2e3f-1111-4222-8333-444455556666',
  'kubernetes.io': {
    namespace: 'prod',
    node: { name: 'node-1', uid: '8d3f' },
    pod: { name: 'deployer-7c9d', uid: '5a1b' },
    serviceaccount: { name: 'deployer', uid: '1f2e' },
  },
  ...more,
})
