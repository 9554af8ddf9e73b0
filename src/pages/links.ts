import type { Config } from '../config/schema.ts'

/** The absolute URL of a configured link, its placeholders filled; a path alone is one of svc's own. Never from a request's Host. */
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

/** The absolute URL of one of svc's own paths. */
export const ownLink = ({ app }: Config, path: string): string => new URL(path, app.url).href

/** Where a person signs in who is to come back to a path of svc: the application's own page, or svc's. */
export function signInPage({ app, links }: Config, returnTo: string): string {
  const url = new URL(links.login ?? '/oauth/login', app.url)
  url.searchParams.set('return_to', returnTo)
  return url.href
}

/** Whether svc itself is what people look at: then it has plain pages of its own. */
export const isOwnFrontEnd = ({ app }: Config): boolean => app.frontend_url === app.url

/** Where somebody is who signed in and wanted nothing else: svc's own page at `/`, or the front end's. */
export const startPage = (config: Config): string => (isOwnFrontEnd(config) ? '/' : config.app.frontend_url)
