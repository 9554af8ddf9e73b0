import type { FastifyReply, FastifyRequest } from 'fastify'
import { startPage } from './links.ts'
import { allowFormTarget } from './page-headers.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** Name of the application that the page continues to. */
    application?: string
  }
}

/** Where a path of svc finally redirects: a redirect URI, and the name of its application. */
interface Destination {
  redirectUri: string | null
  application: string
}

/** Finds the destination of a path of svc; null if the path leads to a page of svc. */
export type FindDestination = (request: FastifyRequest, returnTo: string | null) => Promise<Destination | null>

/** Options of pages that continue to `return_to`. */
export interface ContinuationOptions {
  findDestination: FindDestination
}

/**
 * Names the application that a page continues to, and allows the final redirect, because browsers apply form-action to
 * redirects.
 */
export async function announceReturn(
  reply: FastifyReply,
  returnTo: string | null,
  findDestination: FindDestination,
): Promise<void> {
  const isLocal = returnTo === null || returnTo.startsWith('/')
  const destination = isLocal
    ? await findDestination(reply.request, returnTo)
    : { redirectUri: returnTo, application: new URL(returnTo).host }
  if (!destination) return
  reply.application = destination.application
  if (destination.redirectUri !== null) allowFormTarget(reply, destination.redirectUri)
}

/** Redirects to the destination of a page, or to the start page. */
export const goOn = (reply: FastifyReply, returnTo: string | null): FastifyReply =>
  reply.redirect(returnTo ?? startPage(reply.server.config.current()), 303)

/** Path of a page with its destination. */
export function withReturn(path: string, returnTo: string | null, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...more, ...(returnTo === null ? {} : { return_to: returnTo }) }).toString()
  return query === '' ? path : `${path}?${query}`
}
