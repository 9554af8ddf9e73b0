import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Config } from '../config/schema.ts'
import { logoSource } from './theme.ts'

/**
 * Where forms may lead: browsers hold redirects after a form to this list too, so it names the front end, to which a
 * sign-in and a verified address go on.
 */
function formTargets({ app, links }: Config): string {
  const pages = [links.after_verify, links.login ?? ''].filter((link) => link.startsWith('http'))
  return [...new Set(["'self'", app.frontend_url, ...pages.map((link) => new URL(link).origin)])]
    .filter((origin) => origin !== app.url)
    .join(' ')
}

/** Devices and features that no page of svc uses; passkeys stay allowed. */
const permissionsPolicy = [
  'accelerometer',
  'browsing-topics',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'usb',
]
  .map((feature) => `${feature}=()`)
  .join(', ')

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
  scope.addHook('onRequest', (_request, reply, done) => {
    reply.header('permissions-policy', permissionsPolicy)
    done()
  })
}

const policyHeader = 'content-security-policy'

/** The policy of a page whose forms may also end at this URI: at its origin, or its scheme where a policy has no words for that. */
export function withFormTarget(policy: string, uri: string): string {
  if (!URL.canParse(uri)) return policy
  const { origin, protocol, hostname } = new URL(uri)
  const source = origin === 'null' || hostname.startsWith('[') ? protocol : origin
  return policy.replace('form-action', `form-action ${source}`)
}

/** Lets the forms of the page that is answered end at a URI too, which was checked before. */
export function allowFormTarget(reply: FastifyReply, uri: string): void {
  reply.header(policyHeader, withFormTarget(String(reply.getHeader(policyHeader) ?? ''), uri))
}
