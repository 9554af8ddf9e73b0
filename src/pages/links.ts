import type { Config } from '../platform/config/schema.ts'
import type { AccountPageName } from '../platform/config/sections/accounts.ts'

/**
 * Returns the absolute URL of a configured link with its placeholders filled. A bare path belongs to svc. Never uses a
 * request's Host.
 */
export function linkTo(
  { app, links }: Config,
  name: 'verify' | 'reset' | 'two_factor' | 'after_verify',
  values: Record<string, string> = {},
  query: Record<string, string> = {},
): string {
  const filled = links[name].replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(values[key] ?? ''))
  const url = new URL(filled, app.url)
  for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value)
  return url.href
}

/** Returns the absolute URL of one of svc's paths. */
export const ownLink = ({ app }: Config, path: string): string => new URL(path, app.url).href

/** Returns the sign-in page, of the application or svc, that returns to a path of svc. */
export function signInPage({ app, links }: Config, returnTo: string): string {
  const url = new URL(links.login ?? '/oauth/login', app.url)
  url.searchParams.set('return_to', returnTo)
  return url.href
}

/** Returns the registration page, of the application or svc, that returns to a path; null if users cannot register. */
export function registrationPage({ app, links, registration }: Config, returnTo: string | null): string | null {
  if (!registration.enabled) return null
  const url = new URL(links.register ?? '/oauth/register', app.url)
  if (returnTo !== null) url.searchParams.set('return_to', returnTo)
  return url.href
}

/** Page that links the account at a provider after a sign-in. */
export const linkPage = '/oauth/link-provider'

/** Page for a forgotten password. */
export const forgotPage = '/oauth/forgot-password'

/** Target of the form that ends the session. */
export const signOutPath = '/oauth/sign-out'

/** Page that sends the verification mail again. */
export const resendPage = '/oauth/verify-email'

/** Page where a user accepts the terms. */
export const termsPage = '/oauth/terms'

/** The overview of the account pages. */
export const accountPage = '/account'

/** The overview of the admin pages. */
export const adminPage = '/admin'

/** Returns the page, of the application or svc, that has a section; null if the configuration hides the section. */
export function accountLink(config: Config, section: AccountPageName): string | null {
  const { links, account } = config
  if (links.account !== null) return ownLink(config, links.account)
  return account.sections?.includes(section) === false ? null : ownLink(config, `${accountPage}/${section}`)
}

/** Returns the help page of the application, or null. */
export const helpLink = (config: Config): string | null =>
  config.links.help === null ? null : ownLink(config, config.links.help)

/** The page that asks for the password, and continues to a path. */
export const confirmPage = '/account/confirm'

/** Tests whether svc serves the pages itself, without a separate front end. */
export const isOwnFrontEnd = ({ app }: Config): boolean => app.frontend_url === app.url

/** Returns the page after a sign-in without a destination: svc's page at `/`, or the front end's. */
export const startPage = (config: Config): string => (isOwnFrontEnd(config) ? '/' : config.app.frontend_url)

/** Returns the page after a sign-out: svc's page, which says so, or the front end's. */
export const signedOutPage = (config: Config): string =>
  isOwnFrontEnd(config) ? '/?signed_out=1' : config.app.frontend_url

/** Sign-in pages. They continue at `return_to` if the user is signed in. */
const signInPages: ReadonlySet<string> = new Set(['/oauth/login', '/oauth/register'])

/** Pages that never redirect to another site, apart from those of the account. */
const ownPages: ReadonlySet<string> = new Set([
  '/two-factor-challenge',
  '/oauth/email-code',
  '/oauth/email-code/verify',
  '/oauth/verify-email',
  '/test-tokens',
])

/** Tests whether an address shows a page of svc, without a redirect to another site. */
export function staysWithin(config: Config, address: string, isSignedIn: boolean): boolean {
  const { links, app } = config
  const { origin, pathname, searchParams } = new URL(address, app.url)
  if (origin !== app.url) return false
  if (pathname === '/') return isOwnFrontEnd(config)
  if (pathname === accountPage || pathname.startsWith(`${accountPage}/`)) return links.account === null
  if (pathname === adminPage || pathname.startsWith(`${adminPage}/`)) return true
  if (!signInPages.has(pathname)) return ownPages.has(pathname)
  if (links.login !== null || links.register !== null) return false
  return !isSignedIn || staysWithin(config, searchParams.get('return_to') ?? startPage(config), isSignedIn)
}
