import type { FastifyReply } from 'fastify'
import { textsOf } from '../../src/pages/texts.ts'
import {
  csrfMismatch,
  emailUnverified,
  forbidden,
  notFound,
  unauthenticated,
  unavailable,
  validationFailed,
} from '../../src/platform/errors.ts'
import { tooManyRequests } from '../../src/platform/limits/too-many-requests.ts'
import { hostile, long } from './gallery-parts.ts'

const texts = Array.from({ length: 4 }, (_, index) => `The password field breaks rule ${index}, ${long}.`)

/** Errors of fields with markup. */
export const hostileErrors = { email: [hostile], password: texts, code: [hostile], recovery_code: texts }

/** The error page in each of its states. */
export const errorStates: Readonly<Record<string, (reply: FastifyReply) => FastifyReply>> = {
  'error-401': () => {
    throw unauthenticated()
  },
  'error-403': () => {
    throw forbidden()
  },
  'error-404': () => {
    throw notFound()
  },
  'error-unverified': () => {
    throw emailUnverified()
  },
  'error-419': () => {
    throw csrfMismatch()
  },
  'error-422': () => {
    throw validationFailed({ email: [hostile + long], password: texts })
  },
  'error-429': () => {
    const message = (seconds: number) => `Too many login attempts. Please try again in ${seconds} seconds.`
    throw tooManyRequests({ max: 5, until: 60_000, now: 0 }, { message })
  },
  'error-500': () => {
    throw new Error('secret of the inside')
  },
  'error-503': () => {
    throw unavailable()
  },
  'error-oauth': (reply) => {
    const text = textsOf(reply.request)
    return reply.page('error', {
      heading: text('oauth-error.heading'),
      texts: [text('oauth-error.text')],
      details: "invalid_redirect_uri: redirect_uri did not match any of the client's registered redirect_uris",
      requestId: '2f1c9f4e-8a0b-4c6d-9e1f-3a5b7c9d1e2f',
      homeHref: '/',
    })
  },
  'error-finished': (reply) => {
    const text = textsOf(reply.request)
    return reply.page('error', {
      heading: text('interaction.finished'),
      texts: [text('interaction.finished_text', { client: 'Example Orders' })],
      link: { href: 'https://orders.example.com', label: text('login.continue', { application: 'Example Orders' }) },
      homeHref: '/',
    })
  },
}
