// engine: none
// lane: all

import t from 'tap'
import { Cookie, CookieJar } from 'tough-cookie'
import { ada, startWithAda } from '../support/listening.ts'
import { Person, secret } from '../support/oauth.ts'
import { remoteBrowser } from '../support/remote.ts'
import { Auth, type AuthConfig } from './auth-core.mjs'

const site = 'http://localhost:3000'
const redirect_uris = [`${site}/api/auth/callback/svc`]

/** The client of docs/integrations/auth-js.md. */
const client = {
  ...{ client_id: 'shop', name: 'Shop', type: 'confidential', secret, redirect_uris, first_party: true },
  ...{ grants: ['authorization_code', 'refresh_token'], scopes: ['groups'] },
}

/** The settings of docs/integrations/auth-js.md. */
const configOf = (issuer: string): AuthConfig => ({
  trustHost: true,
  secret: 'a secret of Auth.js that is long enough',
  basePath: '/api/auth',
  providers: [
    {
      id: 'svc',
      name: 'svc',
      type: 'oidc',
      issuer,
      clientId: client.client_id,
      clientSecret: client.secret,
      checks: ['pkce', 'state', 'nonce'],
      authorization: { params: { scope: 'openid profile email groups offline_access' } },
    },
  ],
  callbacks: {
    jwt: ({ token, profile, account }) => ({
      ...token,
      ...(profile && { sub: profile.sub, username: profile.preferred_username, groups: profile.groups }),
      ...(account && { refreshToken: account.refresh_token }),
    }),
    session: ({ session, token }) => ({
      ...session,
      user: { ...session.user, id: token.sub, username: token.username, groups: token.groups },
      hasRefreshToken: typeof token.refreshToken === 'string',
    }),
  },
})

t.test('Auth.js signs a user in, with the username and the groups', async (t) => {
  const svc = await startWithAda(t, {}, { clients: [client], groups: { names: { staff: 'Everyone' } } })
  const config = configOf(svc.url)
  const jar = new CookieJar()
  const ask = async (path: string, init: RequestInit = {}) => {
    const url = new URL(path, site).href
    const headers = new Headers(init.headers)
    headers.set('cookie', await jar.getCookieString(url))
    const answer = await Auth(new Request(url, { ...init, headers }), config)
    for (const line of answer.headers.getSetCookie()) await jar.setCookie(Cookie.parse(line) ?? '', url)
    return answer
  }
  const { csrfToken = '' } = Object(await (await ask('/api/auth/csrf')).json())
  const form = new URLSearchParams({ csrfToken, callbackUrl: `${site}/orders` })
  const begun = await ask('/api/auth/signin/svc', { method: 'POST', body: form })
  const { pathname, search } = new URL(begun.headers.get('location') ?? '')

  const browser = remoteBrowser(svc.url, { origin: svc.url, url: svc.url, xsrf: false })
  const person = new Person(browser, ada.email, svc.url)
  const { out } = await person.decide(await person.go(pathname + search))
  t.ok(out?.searchParams.has('code'))

  const returned = await ask(`${out?.pathname}${out?.search}`)
  t.equal(returned.headers.get('location'), `${site}/orders`)
  const session = await (await ask('/api/auth/session')).json()
  t.strictSame(
    { ...Object(session), expires: undefined },
    {
      user: { name: 'Ada', email: ada.email, id: '1', username: 'ada-1', groups: [] },
      expires: undefined,
      hasRefreshToken: true,
    },
  )
  t.equal((await ask(`${out?.pathname}${out?.search}`)).headers.get('location')?.includes('error'), true, 'once')
})
