import type { FastifyRequest } from 'fastify'

/**
 * Tests whether the client prefers JSON: JSON is its first accepted type, or it is an XMLHttpRequest that accepts
 * anything.
 */
function wantsJson({ headers }: FastifyRequest): boolean {
  const first = headers.accept?.split(',')[0]?.toLowerCase() ?? ''
  if (/[/+]json\s*(;|$)/.test(first.trim())) return true
  return headers['x-requested-with'] === 'XMLHttpRequest' && ['', '*/*', '*'].includes(first.trim())
}

/** Tests for a browser navigation, which gets pages and redirects. API clients never do. */
export const isNavigation = (request: FastifyRequest): boolean =>
  !wantsJson(request) && (request.headers.accept ?? '').toLowerCase().includes('text/html')
