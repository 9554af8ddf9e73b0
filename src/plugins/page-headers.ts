import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

/**
 * Gives the pages of one scope their security headers: a strict CSP with a nonce for styles, no framing, and
 * `Referrer-Policy: same-origin`, by which a page's own requests are known as first-party. API answers do not pay for it.
 */
export async function addPageHeaders(scope: FastifyInstance): Promise<void> {
  const isHttps = scope.config.current().app.url.startsWith('https://')
  await scope.register(fastifyHelmet, {
    enableCSPNonces: true,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        scriptSrc: ["'self'"],
        imgSrc: ["'self'"],
        connectSrc: ["'self'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    referrerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: isHttps,
    xFrameOptions: { action: 'deny' },
  })
}
