import type { Guarded } from './setup.ts'

/** A stateful origin. */
export const app = 'https://app.example.com'

/** The cookies that a browser sends to api.example.com after a sign-in. */
export async function signedIn(svc: Guarded, email: string): Promise<string> {
  const browser = svc.browser({ url: 'https://auth.example.com', origin: app })
  await browser.signIn(email)
  return browser.jar.getCookieString('https://api.example.com/')
}

/** The XSRF token among these cookies. */
export const xsrfOf = (cookies: string): string => decodeURIComponent(/XSRF-TOKEN=([^;]+)/.exec(cookies)?.[1] ?? '')
