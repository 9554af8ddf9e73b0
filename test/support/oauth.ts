import { createHash } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import type { TestApp } from './app.ts'
import type { Browser } from './browser.ts'
import { credentials, nextAddress, ScriptlessBrowser } from './plain.ts'

export const verifier = 'a-random-code-verifier-of-the-tests-0123456789'
const challenge = createHash('sha256').update(verifier).digest('base64url')
export const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }

export const secret = 'a-secret-that-is-long-enough'
export const callback = 'http://localhost:9999/cb'

/** A confidential client of users. */
export const partner = (client_id: string, more: object = {}) => ({
  client_id,
  type: 'confidential',
  secret,
  redirect_uris: [callback],
  grants: ['authorization_code', 'refresh_token', 'password'],
  scopes: ['orders:read', 'roles', 'groups'],
  ...more,
})

const code = () => ({ grants: ['authorization_code', 'refresh_token'], scopes: ['orders:read', 'orders:write'] })

/** One client of each kind. */
export const clients = [
  { client_id: 'web', name: 'The Web Shop', type: 'confidential', secret, redirect_uris: [callback], ...code() },
  { client_id: 'other', type: 'confidential', secret, redirect_uris: ['https://other.example/cb'], ...code() },
  { client_id: 'spa', type: 'public', redirect_uris: ['https://spa.example/cb'], ...code() },
  {
    client_id: 'app',
    type: 'public',
    application_type: 'native',
    first_party: true,
    redirect_uris: ['http://127.0.0.1/cb', 'http://[::1]/cb', 'com.example.app:/cb'],
    ...code(),
  },
  { client_id: 'own', type: 'confidential', secret, first_party: true, redirect_uris: [callback], ...code() },
  {
    client_id: 'tv',
    name: 'Living Room',
    type: 'public',
    grants: ['device_code', 'refresh_token'],
    scopes: ['orders:read'],
  },
  { client_id: 'machine', type: 'confidential', secret, grants: ['client_credentials'], scopes: ['orders:read'] },
  { client_id: 'watcher', type: 'confidential', secret, introspect: true, grants: ['client_credentials'] },
]

/** A client of the password grant. */
export const passwordClient = {
  client_id: 'legacy',
  type: 'confidential',
  secret,
  grants: ['password', 'refresh_token'],
  scopes: ['orders:read'],
}

/** A client that exchanges tokens of the client `web`. */
export const exchangeClient = {
  client_id: 'gateway',
  type: 'confidential',
  secret,
  grants: ['token_exchange'],
  exchange: ['web'],
  scopes: ['orders:read'],
}

export const oauthSettings = {
  scopes: { 'orders:read': 'See your orders', 'orders:write': 'Change your orders', 'stock:read': 'See the stock' },
  clients,
}

type Fields = Record<string, string>

/** The header of a confidential client (RFC 6749 section 2.3.1). */
export const basic = (id: string, password = secret): Fields => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(password)}`).toString('base64')}`,
})

/** Posts a form to an OAuth endpoint; the client sends its id, and its secret if it has one. */
export function post(
  { app }: Pick<TestApp, 'app'>,
  path: string,
  client: string,
  fields: Fields | string,
): Promise<LightMyRequestResponse> {
  const isPublic = clients.some(({ client_id, type }) => client_id === client && type === 'public')
  const form = new URLSearchParams(fields)
  if (isPublic) form.set('client_id', client)
  return app.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...(isPublic ? {} : basic(client)) },
    payload: form.toString(),
  })
}

export const token = (svc: Pick<TestApp, 'app'>, client: string, fields: Fields | string) =>
  post(svc, '/oauth/token', client, fields)

export const refresh = (svc: Pick<TestApp, 'app'>, client: string, value: string, more: Fields = {}) =>
  token(svc, client, { grant_type: 'refresh_token', refresh_token: value, ...more })

export const introspect = async (svc: Pick<TestApp, 'app'>, client: string, value: string, more: Fields = {}) =>
  (await post(svc, '/oauth/introspect', client, { token: value, ...more })).json()

export const revoke = (svc: Pick<TestApp, 'app'>, client: string, value: string, more: Fields = {}) =>
  post(svc, '/oauth/revoke', client, { token: value, ...more })

/** Where a walk through svc's pages ended: at a page, or at a client. */
export interface WalkResult {
  answer: LightMyRequestResponse
  path: string
  /** The page's title without the name of the application; null after a redirect out of svc. */
  page: string | null
  out: URL | null
}

/** The parameters that the client reads at its redirect URI. */
export const response = ({ out }: WalkResult): Fields =>
  Object.fromEntries(new URLSearchParams(out ? out.search.slice(1) || out.hash.slice(1) : ''))

/** The hidden fields of a page's forms. */
export function hiddenFields(html: string): Fields {
  const fields = html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]))
}

/** A person in a browser without JavaScript, during sign-in and consent. */
export class Person {
  readonly plain: ScriptlessBrowser
  readonly email: string
  readonly #base: string

  constructor(svc: TestApp | Browser, email: string, base = 'http://localhost:8000') {
    this.plain = new ScriptlessBrowser(svc)
    this.email = email
    this.#base = base
  }

  /** Opens a path and follows all redirects, to a page or out of svc. */
  async go(path: string): Promise<WalkResult> {
    return this.#follow(await this.plain.open(path), path)
  }

  /** Submits the page's form that has the field, with its hidden fields and the typed values. */
  async press({ answer, path }: WalkResult, typed: Fields): Promise<WalkResult> {
    const [field = ''] = Object.keys(typed)
    const forms = [...answer.body.matchAll(/<form method="post" action="([^"]+)"[^>]*>(.*?)<\/form>/gs)]
    const form = forms.find(([, , inside]) => inside?.includes(`name="${field}"`))
    if (!form) throw new Error(`${path} has no form with ${field}: ${answer.body}`)
    const sent = await this.plain.post(form[1] ?? '', { ...hiddenFields(form[2] ?? ''), ...typed })
    return this.#follow(sent, form[1] ?? '')
  }

  /** Begins an authorization. */
  authorize(query: Fields | string): Promise<WalkResult> {
    return this.go(`/oauth/authorize?${new URLSearchParams(query)}`)
  }

  /** Begins an authorization, signs in, and consents if asked. */
  async allow(query: Fields, decision = 'approve'): Promise<WalkResult> {
    return this.decide(await this.authorize(query), decision)
  }

  /** Signs in and consents from the current page. */
  async decide(from: WalkResult, decision = 'approve'): Promise<WalkResult> {
    const stop = from.page === 'Sign in' ? await this.press(from, credentials(this.email)) : from
    return stop.page === 'Authorize' ? this.press(stop, { decision }) : stop
  }

  async signIn(): Promise<void> {
    await this.plain.send('/oauth/login', credentials(this.email))
  }

  async #follow(first: LightMyRequestResponse, from: string): Promise<WalkResult> {
    let [answer, path] = [first, from]
    for (let steps = 0; steps < 12; steps++) {
      const location = nextAddress(answer)
      if (location === undefined) {
        const [, title = ''] = /<title>([^<]*)<\/title>/.exec(answer.body) ?? []
        return { answer, path, page: title.split(' · ')[0] ?? '', out: null }
      }
      const target = new URL(location, this.#base)
      if (target.origin !== this.#base) return { answer, path, page: null, out: target }
      path = target.pathname + target.search
      answer = await this.plain.open(path)
    }
    throw new Error(`It leads round and round: ${path}`)
  }
}

/** The authorization request of a client. */
export function request(client: string, more: Fields = {}): Fields {
  const found = clients.find(({ client_id }) => client_id === client)
  const [redirect_uri = ''] = found && 'redirect_uris' in found ? found.redirect_uris : []
  return { client_id: client, response_type: 'code', redirect_uri, state: 'the-state', ...pkce, ...more }
}

/** Redeems a code as its client does. */
export const redeem = (svc: Pick<TestApp, 'app'>, client: string, code: string, more: Fields = {}) =>
  token(svc, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: request(client).redirect_uri ?? '',
    code_verifier: verifier,
    ...more,
  })

/** The tokens of a client after a whole code flow. */
export interface Tokens {
  access_token: string
  refresh_token: string
  id_token?: string
  scope: string
  expires_in: number
  token_type: string
}

/** A whole code flow: the user consents, the client redeems the code. */
export async function codeFlow(svc: TestApp, person: Person, client: string, more: Fields = {}): Promise<Tokens> {
  const stop = await person.allow(request(client, more))
  const { code } = response(stop)
  if (!code) throw new Error(`No code: ${stop.out ?? stop.answer.body}`)
  const answer = await redeem(svc, client, code)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json()
}
