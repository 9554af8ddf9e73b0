import type { FastifyReply } from 'fastify'
import { staysWithin } from './links.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** Whether the form leads to an app by a private-use URI scheme, so that its redirects must stay redirects. */
    leadsToApp?: boolean
  }
}

/** Response of a form that may lead to another site, for the API description. */
export const continuing = {
  description: '#ContinuePage An HTML page. With `Refresh`, it continues to an address that may lead to another site.',
  headers: { Refresh: { type: 'string', description: '`0; url=` and the address.' } },
  content: { 'text/html': { schema: { type: 'string' } } },
}

/**
 * Returns where a redirect after a form leads, if it could leave svc; otherwise null. Browsers apply the `form-action` of
 * a page to each redirect that follows its form, also to those of other sites, which svc cannot know. They do not apply it
 * to a page that continues by itself. Browsers of mobile devices open apps only from redirects and clicks.
 */
export function destinationAfterForm(reply: FastifyReply, address: string): { href: string; name: string } | null {
  const { request } = reply
  const config = request.server.config.current()
  const url = URL.parse(address, config.app.url)
  if (!url || !/^https?:$/.test(url.protocol) || reply.leadsToApp) return null
  if (staysWithin(config, url.href, Boolean(request.session?.state?.row?.user))) return null
  const name = url.origin === config.app.url ? (reply.application?.name ?? config.app.name) : url.host
  return { href: url.href, name }
}
