import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Config } from '../config/schema.ts'
import { imageSource, logoSource } from './theme.ts'

/**
 * Origins that forms may redirect to. Browsers apply form-action to redirects too, so the list includes the front end.
 */
function formTargets({ app, links }: Config): string {
  const pages = [links.after_verify, links.login ?? '', links.register ?? ''].filter((link) => link.startsWith('http'))
  return [...new Set(["'self'", app.frontend_url, ...pages.map((link) => new URL(link).origin)])]
    .filter((origin) => origin !== app.url)
    .join(' ')
}

/** Browser features that no page of svc uses. */
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
 * Adds security headers to the pages of a scope: a strict CSP with a style nonce, no framing, and `Referrer-Policy:
 * same-origin`, which identifies first-party requests. API responses skip this cost.
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

/** Headers of an error page outside the scopes of pages. It has no scripts and no forms. */
export function errorPageHeaders(config: Config, nonce: string): Record<string, string> {
  const logo = logoSource(config)
  return {
    'cache-control': 'no-store',
    'content-security-policy': [
      "default-src 'none'",
      `style-src 'nonce-${nonce}'`,
      `img-src 'self'${logo === null ? '' : ` ${logo}`}`,
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join(';'),
    'permissions-policy': permissionsPolicy,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...(config.app.url.startsWith('https://')
      ? { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }
      : {}),
  }
}

const policyHeader = 'content-security-policy'

/**
 * Adds a URI to the allowed form targets of a policy: its origin, or its scheme if a policy cannot express the origin.
 */
export function withFormTarget(policy: string, uri: string): string {
  if (!URL.canParse(uri)) return policy
  const { origin, protocol, hostname } = new URL(uri)
  const source = origin === 'null' || hostname.startsWith('[') ? protocol : origin
  return policy.replace('form-action', `form-action ${source}`)
}

/** Allows the forms of this page to redirect to a validated URI. */
export function allowFormTarget(reply: FastifyReply, uri: string): void {
  reply.header(policyHeader, withFormTarget(String(reply.getHeader(policyHeader) ?? ''), uri))
}

/** Allows this page to show an image: from its origin, or from the page itself for a `data:` URL. */
export function allowImage(reply: FastifyReply, uri: string): void {
  const policy = String(reply.getHeader(policyHeader) ?? '')
  const source = imageSource(uri)
  if (source !== null) reply.header(policyHeader, policy.replace('img-src', `img-src ${source}`))
}

/** The policy of this page, for responses that the OAuth library sends. */
export const policyOf = (reply: FastifyReply): Record<string, string> => ({
  [policyHeader]: String(reply.getHeader(policyHeader) ?? ''),
})
