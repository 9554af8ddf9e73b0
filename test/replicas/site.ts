import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { registration } from '../support/accounts.ts'
import type { Settings } from '../support/app.ts'
import type { Browser } from '../support/browser.ts'
import { oauthSettings } from '../support/oauth.ts'
import { OidcProvider } from '../support/oidc-provider.ts'
import { remoteApp, remoteBrowser } from '../support/remote.ts'
import { type Replicas, startReplicas } from '../support/replicas.ts'
import { SmtpReceiver } from '../support/smtp.ts'
import { until } from '../support/until.ts'

const people = [{ sub: 'grace', email: 'grace@example.com', email_verified: true, name: 'Grace Acme' }]

/** Two replicas behind a balancer that alternates between them, and their dependencies. */
export interface Site extends Replicas {
  app: ReturnType<typeof remoteApp>
  mails: SmtpReceiver
  browser(): Browser
  /** The same request many times concurrently, spread over the replicas; returns the sorted statuses. */
  together(times: number, send: (n: number) => Promise<{ statusCode: number }>): Promise<number[]>
}

export async function start(t: Test, more: Settings): Promise<Site> {
  const mails = await SmtpReceiver.start()
  t.teardown(() => mails.close())
  const replicas = await startReplicas(t, 2, async (url) => {
    const acme = await OidcProvider.start(t, structuredClone(people), [`${url}/auth/acme/callback`])
    // Serialized without aliases, which the configuration rejects; the same object twice would become one.
    const settings = {
      ...oauthSettings,
      mail: { url: mails.url },
      oauth: { refresh_grace: '1s' },
      passkeys: { confirm_password: false },
      social: { acme: acme.settings },
      rate_limits: { mail: '1000/1m', register: '1000/1m', two_factor: null },
      ...more,
    }
    return JSON.parse(JSON.stringify(settings))
  })
  const { url } = replicas
  const together: Site['together'] = async (times, send) =>
    (await Promise.all(Array.from({ length: times }, (_, n) => send(n)))).map(({ statusCode }) => statusCode).sort()
  return { ...replicas, app: remoteApp(url), mails, browser: () => remoteBrowser(url, { origin: url }), together }
}

/** The mails to an address, once there are this many. */
export async function mailsTo({ mails }: Site, address: string, count: number) {
  const arrived = () => mails.mails.filter(({ to }) => to === address)
  await until(() => arrived().length >= count)
  return arrived()
}

export const linkIn = (text: string | undefined): URL =>
  new URL(/https?:\/\/\S+/.exec(text ?? '')?.[0] ?? 'about:blank')

/** A new account, and the browser that created it. */
export async function register(site: Site): Promise<{ browser: Browser; email: string }> {
  const email = `${randomUUID()}@example.com`
  const browser = site.browser()
  await browser.get('/svc/csrf-cookie')
  const answer = await browser.post('/register', registration(email))
  if (answer.statusCode !== 201) throw new Error(answer.body)
  return { browser, email }
}

export const userStatus = async (browser: Browser) => (await browser.get('/api/user')).statusCode
