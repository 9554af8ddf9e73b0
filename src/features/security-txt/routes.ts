import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { notFound } from '../../platform/errors.ts'
import { Type } from '../../platform/json-schema.ts'

/** How long the file is valid, in days. RFC 9116 section 2.5.5 recommends less than a year. */
const validDays = 30
const day = 86_400_000

/** Tells security researchers where to report a vulnerability (RFC 9116). */
const securityTxt: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/.well-known/security.txt',
    {
      config: { access: { family: 'none' }, alsoAnswers: [404] },
      schema: {
        operationId: 'getSecurityTxt',
        tags: ['Health'],
        summary: 'Where to report a vulnerability',
        description: 'The contact in `app.security_contact` (RFC 9116). 404 without one.',
        response: {
          200: { description: 'The file.', content: { 'text/plain': { schema: Type.String() } } },
        },
      },
    },
    async (_request, reply) => {
      const { security_contact: contact, url } = app.config.current().app
      if (contact === null) throw notFound()
      // The same for a whole day, so that caches can keep it.
      const today = Math.floor(app.clock.now() / day) * day
      const expires = new Date(today + validDays * day).toISOString().replace('.000', '')
      const lines = [`Contact: ${contact}`, `Expires: ${expires}`, `Canonical: ${url}/.well-known/security.txt`]
      return reply
        .type('text/plain; charset=utf-8')
        .header('cache-control', 'public, max-age=3600')
        .send(`${lines.join('\n')}\n`)
    },
  )
}

export default securityTxt
