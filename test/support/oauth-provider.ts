import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { allowPage, type Call, listen } from './oidc-provider.ts'
import { freePort } from './process.ts'

/** An address of an account. */
interface Email {
  email: string
  primary: boolean
  verified: boolean
}

/** Accounts that can sign in: their profile, and their addresses, which have a separate endpoint. */
export interface OAuthAccount {
  profile: Record<string, unknown>
  emails?: Email[]
}

interface Issued {
  account: OAuthAccount
  redirectUri: string
  challenge: string | null
}

const clientSecret = 'the-secret-of-svc-at-the-forge'
const random = () => randomBytes(20).toString('hex')
const json = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}

/**
 * A plain OAuth 2.0 server like GitHub's: its paths, numeric ids, a separate list of addresses, scopes with commas,
 * form-encoded tokens unless JSON is requested, and errors with status 200.
 */
export class OAuthProvider {
  readonly url: string
  readonly accounts: Map<string, OAuthAccount>
  readonly calls: Call[] = []
  /** Replaces the response of an endpoint, by path. */
  readonly instead = new Map<string, (response: ServerResponse) => void>()
  readonly #codes = new Map<string, Issued>()
  readonly #tokens = new Map<string, OAuthAccount>()
  readonly #redirectUris: string[]

  private constructor(url: string, accounts: Record<string, OAuthAccount>, redirectUris: string[]) {
    this.url = url
    this.accounts = new Map(Object.entries(accounts))
    this.#redirectUris = redirectUris
  }

  static async start(t: Test, accounts: Record<string, OAuthAccount>, redirectUris: string[]): Promise<OAuthProvider> {
    const port = await freePort()
    const own = new OAuthProvider(`http://127.0.0.1:${port}`, accounts, redirectUris)
    await listen(t, port, (request, response) => void own.#answer(request, response))
    return own
  }

  /** Its entry in svc's configuration. */
  get settings() {
    return {
      authorization_url: `${this.url}/login/oauth/authorize`,
      token_url: `${this.url}/login/oauth/access_token`,
      userinfo_url: `${this.url}/user`,
      client_id: 'svc-forge',
      client_secret: clientSecret,
      allow_private_addresses: true,
    }
  }

  callsTo(path: string): Call[] {
    return this.calls.filter((call) => call.path === path)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', headers } = request
    const url = new URL(request.url ?? '/', this.url)
    const form = new URLSearchParams(await text(request))
    const path = url.pathname
    this.calls.push({ method, path, headers, form })
    const instead = this.instead.get(path)
    if (instead) return instead(response)
    if (path === '/login/oauth/authorize') return this.#authorize(method, url, form, response)
    if (path === '/login/oauth/access_token') return this.#exchange(headers, form, response)
    const account = this.#tokens.get(headers.authorization?.replace(/^(Bearer|token) /, '') ?? '')
    if (!account || !headers['user-agent']) return json(response, account ? 403 : 401, { message: 'Bad credentials' })
    if (path === '/user') return json(response, 200, account.profile)
    if (path === '/user/emails') return json(response, 200, account.emails ?? [])
    json(response, 404, { message: 'Not Found' })
  }

  async #authorize(method: string, url: URL, form: URLSearchParams, response: ServerResponse): Promise<void> {
    const asked = url.searchParams
    const redirectUri = asked.get('redirect_uri') ?? ''
    if (asked.get('client_id') !== 'svc-forge' || !this.#redirectUris.includes(redirectUri)) {
      return json(response, 400, { message: 'The redirect_uri is not associated with this application.' })
    }
    if (method !== 'POST') {
      response.setHeader('content-type', 'text/html')
      response.end(allowPage(`${url.pathname}${url.search.replaceAll('&', '&amp;')}`, this.accounts.keys()))
      return
    }
    const back = new URL(redirectUri)
    const account = this.accounts.get(form.get('login') ?? '')
    if (form.get('decision') === 'allow' && account) {
      const code = random()
      this.#codes.set(code, { account, redirectUri, challenge: asked.get('code_challenge') })
      back.searchParams.set('code', code)
    } else {
      back.searchParams.set('error', 'access_denied')
      back.searchParams.set('error_description', 'The user has denied your application access.')
    }
    back.searchParams.set('state', asked.get('state') ?? '')
    response.writeHead(302, { location: back.href })
    response.end()
  }

  async #exchange(headers: IncomingMessage['headers'], form: URLSearchParams, response: ServerResponse): Promise<void> {
    const [id, secret] = credentialsOf(headers, form)
    const code = form.get('code') ?? ''
    const issued = this.#codes.get(code)
    this.#codes.delete(code)
    const verified = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isGood = issued?.redirectUri === form.get('redirect_uri') && [null, verified].includes(issued.challenge)
    // GitHub reports errors with 200.
    if (id !== 'svc-forge' || secret !== clientSecret) {
      return json(response, 200, { error: 'incorrect_client_credentials' })
    }
    if (!issued || !isGood) return json(response, 200, { error: 'bad_verification_code' })
    const token = `gho_${random()}`
    this.#tokens.set(token, issued.account)
    const fields = { access_token: token, scope: 'read:user,user:email', token_type: 'bearer' }
    if (headers.accept?.includes('application/json')) return json(response, 200, fields)
    response.setHeader('content-type', 'application/x-www-form-urlencoded')
    response.end(new URLSearchParams(fields).toString())
  }
}

/** The client's id and secret, by either authentication method. */
function credentialsOf(headers: IncomingMessage['headers'], form: URLSearchParams): (string | null)[] {
  const basic = /^Basic (.+)$/.exec(headers.authorization ?? '')?.[1]
  if (!basic) return [form.get('client_id'), form.get('client_secret')]
  return Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent)
}
