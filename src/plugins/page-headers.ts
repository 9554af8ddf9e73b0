import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'
import { logoSource } from './pages/theme.ts'

/**
 * Where forms may lead: browsers hold redirects after a form to this list too, so it names the front end, to which a
 * sign-in and a verified address go on.
 */
function formTargets({ app, links }: Config): string {
  const after = links.after_verify.startsWith('http') ? [new URL(links.after_verify).origin] : []
  return [...new Set(["'self'", app.frontend_url, ...after])].filter((origin) => origin !== app.url).join(' ')
}

/**
 * Gives the pages of one scope their security headers: a strict CSP with a nonce for styles, no framing, and
 * `Referrer-Policy: same-origin`, by which a page's own requests are known as first-party. API answers do not pay for it.
 */
export async function addPageHeaders(scope: FastifyInstance): Promise<void> {
  const config = () => scope.config.current()
  const isHttps = scope.config.current().app.url.startsWith('https://')
  await scope.register(fastifyHelmet, {
    enableCSPNonces: true,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        scriptSrc: ["'self'"],
        imgSrc: ["'self'", () => logoSource(config()) ?? ''],
        connectSrc: ["'self'"],
        formAction: [() => formTargets(config())],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    referrerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: isHttps,
    xFrameOptions: { action: 'deny' },
  })
}
