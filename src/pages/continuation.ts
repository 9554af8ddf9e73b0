import type { FastifyReply, FastifyRequest } from 'fastify'
import { startPage } from './links.ts'
import { allowFormTarget } from './page-headers.ts'

/** Returns the external URL where a path of svc finally redirects, or null. */
export type FormTarget = (request: FastifyRequest, returnTo: string | null) => Promise<string | null>

/** Options of pages that continue to `return_to`. */
export interface ContinuationOptions {
  formTarget: FormTarget
}

/** Allows the final redirect target, because browsers apply form-action to redirects. */
export async function allowReturn(reply: FastifyReply, returnTo: string | null, formTarget: FormTarget): Promise<void> {
  const isLocal = returnTo === null || returnTo.startsWith('/')
  const target = isLocal ? await formTarget(reply.request, returnTo) : returnTo
  if (target !== null) allowFormTarget(reply, target)
}

/** Redirects to the destination of a page, or to the start page. */
export const goOn = (reply: FastifyReply, returnTo: string | null): FastifyReply =>
  reply.redirect(returnTo ?? startPage(reply.server.config.current()), 303)

/** Path of a page with its destination. */
export function withReturn(path: string, returnTo: string | null, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...more, ...(returnTo === null ? {} : { return_to: returnTo }) }).toString()
  return query === '' ? path : `${path}?${query}`
}
