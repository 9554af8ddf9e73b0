import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { sha256Hex } from '../../crypto/hash.ts'

/** The package offers only its modules by name; the bundle for browsers lies beside them. */
const webauthn = dirname(dirname(createRequire(import.meta.url).resolve('@simplewebauthn/browser')))

const scripts = [
  {
    url: '/assets/webauthn.js',
    file: join(webauthn, 'dist', 'bundle', 'index.umd.min.js'),
    summary: "Script: the browser's side of WebAuthn",
  },
  {
    url: '/assets/passkey.js',
    file: join(import.meta.dirname, 'passkey.js'),
    summary: 'Script: what the pages with passkeys share',
  },
  {
    url: '/assets/passkey-confirm.js',
    file: join(import.meta.dirname, 'passkey-confirm.js'),
    summary: 'Script: the second factor by passkey',
  },
  {
    url: '/assets/passkey-login.js',
    file: join(import.meta.dirname, 'passkey-login.js'),
    summary: 'Script: sign-in by passkey on the sign-in page',
  },
]

const javascript = { content: { 'text/javascript': { schema: { type: 'string' } } } }

/** The scripts of svc's pages: the same for everybody, and asked for again only when they changed (RFC 9110 section 13.1.2). */
const assets: FastifyPluginAsyncTypebox = async (app) => {
  for (const { url, file, summary } of scripts) {
    const content = await readFile(file, 'utf8')
    const etag = `"${sha256Hex(content).slice(0, 32)}"`
    app.get(
      url,
      {
        config: { access: { family: 'none' } },
        schema: {
          summary,
          response: { 200: { description: 'JavaScript.', ...javascript }, 304: { description: 'Unchanged.' } },
        },
      },
      async (request, reply) => {
        reply.headers({ etag, 'cache-control': 'no-cache', 'cross-origin-resource-policy': 'same-origin' })
        const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
        if (known?.includes(etag)) return reply.code(304).send()
        return reply.type('text/javascript; charset=utf-8').send(content)
      },
    )
  }
}

export default assets
