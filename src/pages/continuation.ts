import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../platform/config/schema.ts'
import { returnTarget } from '../platform/http/return-to.ts'
import { linkPage, startPage } from './links.ts'
import { allowApp, allowImage } from './page-headers.ts'

/** Describes `return_to` of the pages that sign in, for the API description. */
export const returnField =
  'Where to continue: a path of svc, or the https URL of a service that a guard rule names by its host.'

declare module 'fastify' {
  interface FastifyReply {
    /** The application that the page continues to, or that asks for access. */
    application?: Application
  }
}

/** An application on the pages of svc. */
export interface Application {
  name: string
  /** URL of its logo. */
  logo: string | null
  termsHref: string | null
  privacyHref: string | null
  /** Target of the form that goes back to it without a sign-in. */
  cancelAction?: string | null
}

/** Shows an application on the page of this response. */
export function showApplication(reply: FastifyReply, application: Application): void {
  reply.application = application
  if (application.logo !== null) allowImage(reply, application.logo)
}

/** The final destination of a path of svc: a redirect URI, and its application. */
export interface Destination {
  redirectUri: string | null
  application: Application
}

/** Finds the destination of a path of svc; null if the path leads to a page of svc. */
type FindDestination = (request: FastifyRequest, returnTo: string | null) => Promise<Destination | null>

declare module 'fastify' {
  interface FastifyInstance {
    findDestination: FindDestination
  }
}

const unknown = { logo: null, termsHref: null, privacyHref: null }

/**
 * Names the application that a page continues to. If it is an app with a private-use scheme, allows the final redirect,
 * because browsers apply form-action to redirects.
 */
export async function showDestination(reply: FastifyReply, returnTo: string | null): Promise<void> {
  const last = lastTarget(reply.server.config.current(), returnTo)
  const isLocal = last === null || last.startsWith('/')
  const destination = isLocal
    ? await reply.server.findDestination(reply.request, last)
    : { redirectUri: last, application: { ...unknown, name: new URL(last).host } }
  if (!destination) return
  showApplication(reply, destination.application)
  if (destination.redirectUri !== null) allowApp(reply, destination.redirectUri)
}

/** Returns the path after the page that links an account, if the path leads to that page. Otherwise returns the path. */
export function lastTarget(config: Config, returnTo: string | null): string | null {
  const url = URL.parse(returnTo ?? '', 'https://svc.invalid')
  return url?.pathname === linkPage ? returnTarget(config, url.searchParams.get('return_to')) : returnTo
}

/** Redirects to the destination of a page, or to the start page. */
export const redirectOn = (reply: FastifyReply, returnTo: string | null): FastifyReply =>
  reply.redirect(returnTo ?? startPage(reply.server.config.current()), 303)

/** Path of a page with its destination. */
export function withReturn(path: string, returnTo: string | null, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...more, ...(returnTo === null ? {} : { return_to: returnTo }) }).toString()
  return query === '' ? path : `${path}?${query}`
}
