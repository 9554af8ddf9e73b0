import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { sha256Hex } from '../../../crypto/hash.ts'

/** The package exports only modules; the browser bundle is in the same directory. */
const webauthn = dirname(dirname(createRequire(import.meta.url).resolve('@simplewebauthn/browser')))

const scripts = [
  {
    url: '/assets/webauthn.js',
    file: join(webauthn, 'dist', 'bundle', 'index.umd.min.js'),
    operationId: 'getWebauthnScript',
    summary: 'Script: WebAuthn in the browser',
  },
  {
    url: '/assets/passkey.js',
    file: join(import.meta.dirname, 'passkey.js'),
    operationId: 'getPasskeyScript',
    summary: 'Script: shared passkey code',
  },
  {
    url: '/assets/passkey-confirm.js',
    file: join(import.meta.dirname, 'passkey-confirm.js'),
    operationId: 'getPasskeyConfirmationScript',
    summary: 'Script: passkey as second factor',
  },
  {
    url: '/assets/passkey-login.js',
    file: join(import.meta.dirname, 'passkey-login.js'),
    operationId: 'getPasskeyLoginScript',
    summary: 'Script: passkey on the sign-in page',
  },
]

const headers = { ETag: { type: 'string', description: 'The version, for `If-None-Match`.' } }
const javascript = { content: { 'text/javascript': { schema: { type: 'string' } } } }

/** Scripts of svc's pages, public and cached with conditional requests (RFC 9110 section 13.1.2). */
const assets: FastifyPluginAsyncTypebox = async (app) => {
  for (const { url, file, operationId, summary } of scripts) {
    const content = await readFile(file, 'utf8')
    const etag = `"${sha256Hex(content).slice(0, 32)}"`
    app.get(
      url,
      {
        config: { access: { family: 'none' } },
        schema: {
          operationId,
          tags: ['Pages'],
          summary,
          response: {
            200: { description: 'JavaScript.', ...javascript, headers },
            304: { description: 'Unchanged.', headers },
          },
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
