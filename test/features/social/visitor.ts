import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { Cookie, CookieJar } from 'tough-cookie'
import type { User } from '../../../src/identity/user.ts'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'
import type { TestClock } from '../../support/clock.ts'
import { type OAuthAccount, OAuthProvider } from '../../support/oauth-provider.ts'
import { OidcProvider, type ProviderAccount } from '../../support/oidc-provider.ts'
import { stopTime } from '../../support/time.ts'

export const frontEnd = 'http://localhost:5173'
export const mobileUri = 'https://app.example/signed-in'

/** The accounts at Acme, the OpenID provider. */
const people: ProviderAccount[] = [
  { sub: 'grace', email: 'grace@example.com', email_verified: true, name: 'Grace Acme' },
  { sub: 'alan', email: 'alan@example.com', email_verified: true, name: 'Alan Acme' },
  { sub: 'unproven', email: 'unproven@example.com', email_verified: false, name: 'Un Proven' },
  { sub: 'nameless' },
]

/** The accounts at the forge, which supports plain OAuth 2.0 as GitHub does. */
export const forgeAccounts: Record<string, OAuthAccount> = {
  wayland: {
    profile: { id: 4711, node_id: 'U_4711', login: 'wayland', name: 'Wayland Smith', email: 'public@example.com' },
    emails: [
      { email: 'old@example.com', primary: false, verified: true },
      { email: 'wayland@example.com', primary: true, verified: true },
    ],
  },
  hasty: {
    profile: { id: 4712, login: 'hasty', name: null, email: null },
    emails: [{ email: 'hasty@example.com', primary: true, verified: false }],
  },
}

export const callbackUri = (provider: string) => `http://localhost:8000/auth/${provider}/callback`

/** svc with both providers. */
export interface Social extends TestApp {
  settings: Settings
  acme: OidcProvider
  forge: OAuthProvider
}

interface Differences {
  /** Additional settings of Acme. */
  acme?: Settings
  /** Additional settings of the forge, which is the preset of GitHub at other addresses. */
  github?: Settings
  settings?: Settings
  clock?: TestClock
  /** Whether Acme does not respond yet when svc starts. */
  isDown?: boolean
  traces?: boolean
}

/** Starts both providers, and svc with their settings. */
export async function buildSocial(
  t: Test,
  { acme = {}, github = {}, settings, clock, isDown = false, traces = false }: Differences = {},
): Promise<Social> {
  const own = await OidcProvider.start(t, structuredClone(people), [callbackUri('acme'), mobileUri])
  own.isUp = !isDown
  const forge = await OAuthProvider.start(t, structuredClone(forgeAccounts), [
    callbackUri('github'),
    callbackUri('smithy'),
    mobileUri,
  ])
  const all = {
    app: { frontend_url: frontEnd },
    social: { acme: { ...own.settings, label: 'Acme', ...acme }, github: { ...forge.settings, ...github } },
    rate_limits: { login: null, two_factor: null },
    ...settings,
  }
  const svc = await buildTestApp(t, { settings: all, clock: clock ?? stopTime(t), traces })
  return Object.assign(svc, { acme: own, forge, settings: all })
}

/** Another replica on the same database. */
export async function replicaOf(t: Test, svc: Social): Promise<TestApp> {
  return buildTestApp(t, { settings: svc.settings, database: svc.where, clock: svc.clock })
}

/** How a browser navigates to a page: no fetch, no origin. */
const navigation = {
  accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
  origin: undefined,
  referer: undefined,
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
}

/** A person at a browser that stores the cookies of svc and the providers. */
export class Visitor {
  readonly browser
  #there = new CookieJar()

  constructor(svc: Pick<TestApp, 'browser'>, browser = svc.browser()) {
    this.browser = browser
  }

  /** Follows the button of a provider; returns the redirect address. */
  async begin(provider = 'acme', query: Record<string, string> = {}): Promise<URL> {
    const answer = await this.open(`/auth/${provider}/redirect?${new URLSearchParams(query)}`)
    if (answer.statusCode !== 302) throw new Error(`${answer.statusCode}: ${answer.headers.location ?? answer.body}`)
    return new URL(String(answer.headers.location))
  }

  /** Opens a path of svc as a page. */
  open(path: string): Promise<LightMyRequestResponse> {
    return this.browser.get(path, { ...navigation, 'sec-fetch-site': 'cross-site' })
  }

  /** Answers the provider's questions; returns the redirect address. */
  async allow(at: URL, login: string, decision = 'allow'): Promise<URL> {
    let [url, form] = [at, ''] as [URL, string]
    for (let steps = 0; steps < 12; steps++) {
      const answer = await this.#ask(url, form)
      const { location } = answer
      form = ''
      if (location === null) {
        const [, action = ''] = /action="([^"]+)"/.exec(answer.body) ?? []
        if (action === '') throw new Error(`${url.href}: ${answer.status} ${answer.body}`)
        url = new URL(action.replaceAll('&amp;', '&'), url)
        form = new URLSearchParams({ login, decision }).toString()
      } else {
        url = new URL(location, url)
        if (url.origin !== at.origin) return url
      }
    }
    throw new Error(`It leads round and round: ${url.href}`)
  }

  /** Signs out at the providers. */
  leave(): void {
    this.#there = new CookieJar()
  }

  /** Returns to svc with the provider's response. */
  back(url: URL): Promise<LightMyRequestResponse> {
    return this.open(url.pathname + url.search)
  }

  /** A whole sign-in. */
  async signIn(login: string, provider = 'acme', query: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    return this.back(await this.allow(await this.begin(provider, query), login))
  }

  /** The user who is signed in at svc, or null. */
  async user(): Promise<Pick<
    User,
    'id' | 'email' | 'email_verified_at' | 'name' | 'username' | 'given_name' | 'groups' | 'picture'
  > | null> {
    const answer = await this.browser.get('/api/user')
    return answer.statusCode === 200 ? answer.json() : null
  }

  async #ask(url: URL, form: string) {
    const cookie = await this.#there.getCookieString(url.href)
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie, ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}) },
      ...(form ? { method: 'POST', body: form } : {}),
    })
    for (const line of answer.headers.getSetCookie()) {
      const set = Cookie.parse(line)
      if (set) await this.#there.setCookie(set, url.href, { ignoreError: true })
    }
    return { status: answer.status, location: answer.headers.get('location'), body: await answer.text() }
  }
}

/** The list of a user's linked accounts. */
export const list = '/user/social-accounts'

/** A whole linking flow. */
export async function link({ visitor }: { visitor: Visitor }, login: string, provider = 'acme') {
  const answer = await visitor.browser.post(`${list}/${provider}`, {})
  if (answer.statusCode !== 200) throw new Error(answer.body)
  visitor.leave()
  return visitor.back(await visitor.allow(new URL(answer.json().url), login))
}

/** The error that the front end receives, or null if the redirect goes elsewhere. */
export function failure({ statusCode, headers }: LightMyRequestResponse): string | null {
  const url = new URL(String(headers.location ?? 'about:blank'), 'http://localhost:8000')
  return [302, 303].includes(statusCode) && url.origin === frontEnd ? url.searchParams.get('error') : null
}
