import type { FastifyRequest } from 'fastify'

/** Whether the client asks for JSON: the first type it accepts is JSON, or it calls itself an XMLHttpRequest and takes anything. */
function wantsJson({ headers }: FastifyRequest): boolean {
  const first = headers.accept?.split(',')[0]?.toLowerCase() ?? ''
  if (/[/+]json\s*(;|$)/.test(first.trim())) return true
  return headers['x-requested-with'] === 'XMLHttpRequest' && ['', '*/*', '*'].includes(first.trim())
}

/** Whether a person looks at the answer: only then is it a page or a redirect, and never to a client of the API. */
export const isNavigation = (request: FastifyRequest): boolean =>
  !wantsJson(request) && (request.headers.accept ?? '').toLowerCase().includes('text/html')
