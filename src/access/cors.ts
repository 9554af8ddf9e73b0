import fastifyCors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import { isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import { deprecationHeaders } from '../http/deprecation.ts'
import { limitHeaderNames } from '../limits/too-many-requests.ts'
import { isListed } from './stateful.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route sets its own CORS headers. */
    cors?: 'elsewhere'
  }
}

/**
 * Tests whether pages of this origin may read responses: as configured, otherwise by the stateful list (in production
 * only https, never loopback).
 */
export function isAllowedOrigin(origin: string, { app, cors, stateful }: Config): boolean {
  if (cors.origins) return cors.origins.includes(origin)
  if (!isListed(origin, stateful)) return false
  return app.environment !== 'production' || (origin.startsWith('https://') && !isLoopback(new URL(origin).hostname))
}

const exposedHeaders = [...limitHeaderNames, ...deprecationHeaders, 'X-Retry-After'].join(', ')

/** Adds CORS headers to every native route, including errors, for the active configuration. */
export async function addCors(app: FastifyInstance): Promise<void> {
  await app.register(fastifyCors, {
    delegator: (request, done) => {
      if (request.routeOptions.config.cors === 'elsewhere') return done(null, { origin: false })
      const config = app.config.current()
      const { origin } = request.headers
      done(null, {
        origin: origin !== undefined && isAllowedOrigin(origin, config) ? origin : false,
        credentials: config.cors.supports_credentials,
        methods: 'GET, HEAD, POST, PUT, PATCH, DELETE',
        exposedHeaders,
        maxAge: 7200,
        strictPreflight: false,
      })
    },
  })
}
