import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Config } from '../platform/config/schema.ts'
import { imageSource, logoSource } from './theme.ts'

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
        formAction: ["'self'"],
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

/** Adds the private-use scheme of an app to the allowed form targets of a policy (RFC 8252 section 7.1). */
export const withAppScheme = (policy: string, uri: string): string =>
  isAppUri(uri) ? policy.replace('form-action', `form-action ${new URL(uri).protocol}`) : policy

/** Tests whether a valid URI opens an app by a private-use scheme. */
const isAppUri = (uri: string): boolean => URL.canParse(uri) && !/^https?:$/.test(new URL(uri).protocol)

/** Removes the limit on the targets of forms. */
export const withoutFormTargets = (policy: string): string => policy.replace(/form-action[^;]*;?/, '')

/** Lets the forms of this page, and the redirects after them, open the app of a validated URI. */
export function allowApp(reply: FastifyReply, uri: string): void {
  if (!isAppUri(uri)) return
  reply.leadsToApp = true
  reply.header(policyHeader, withAppScheme(String(reply.getHeader(policyHeader) ?? ''), uri))
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
