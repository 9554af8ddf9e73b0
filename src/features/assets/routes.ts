import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import { notFound } from '../../platform/errors.ts'
import { hasVersion } from '../../platform/http/etag.ts'
import { Type } from '../../platform/json-schema.ts'

const headers = { ETag: { type: 'string', description: 'The version, for `If-None-Match`.' } }
const javascript = { content: { 'text/javascript': { schema: { type: 'string' } } } }

/** Scripts and the icon of svc's pages, public and cached with conditional requests (RFC 9110 section 13.1.2). */
const assets: FastifyPluginAsyncTypebox = async (app) => {
  const own = Object.fromEntries(
    ['buttons.js', 'copy.js', 'password.js', 'times.js'].map((name) => [name, join(import.meta.dirname, name)]),
  )
  const files: Record<string, string> = Object.assign({}, own, ...app.features.map(({ scripts }) => scripts))
  const scripts = new Map<string, { content: string; etag: string }>()
  for (const [name, file] of Object.entries(files)) {
    const content = await readFile(file, 'utf8')
    scripts.set(name, { content, etag: `"${sha256Hex(content).slice(0, 32)}"` })
  }

  app.get(
    '/assets/:name',
    {
      config: { access: { family: 'none' } },
      schema: {
        operationId: 'getPageScript',
        tags: ['Pages'],
        summary: 'A script of a page',
        description: 'JavaScript of the sign-in and confirmation pages. 404 for unknown names.',
        params: Type.Object({ name: Type.String({ maxLength: 100, description: 'The name of the file.' }) }),
        response: {
          200: { description: 'JavaScript.', ...javascript, headers },
          304: { type: 'null', description: 'Unchanged.', headers },
        },
      },
    },
    async (request, reply) => {
      const script = scripts.get(request.params.name)
      if (!script) throw notFound()
      const { content, etag } = script
      reply.headers({ etag, 'cache-control': 'no-cache', 'cross-origin-resource-policy': 'same-origin' })
      if (hasVersion(request, etag)) return reply.code(304).send(null)
      return reply.type('text/javascript; charset=utf-8').send(content)
    },
  )

  const icon = await readFile(join(import.meta.dirname, 'favicon.ico'))
  const iconTag = `"${sha256Hex(icon).slice(0, 32)}"`

  app.get(
    '/favicon.ico',
    {
      config: { access: { family: 'none' } },
      schema: {
        operationId: 'getFavicon',
        tags: ['Pages'],
        summary: 'The icon of the pages',
        description: 'Browsers request it on their own. A proxy can serve another one at this address.',
        response: {
          200: {
            description: 'An icon in three sizes.',
            content: {
              'image/vnd.microsoft.icon': { schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) },
            },
            headers,
          },
          304: { type: 'null', description: 'Unchanged.', headers },
        },
      },
    },
    async (request, reply) => {
      reply.headers({ etag: iconTag, 'cache-control': 'public, max-age=86400' })
      if (hasVersion(request, iconTag)) return reply.code(304).send(null)
      return reply.type('image/vnd.microsoft.icon').send(icon)
    },
  )
}

export default assets
