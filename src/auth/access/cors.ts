import fastifyCors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import { isLoopback } from '../../platform/config/hosts.ts'
import type { Config } from '../../platform/config/schema.ts'
import { type Advice, logAdvice } from '../../platform/http/advice.ts'
import { deprecationHeaders } from '../../platform/http/deprecation.ts'
import { limitHeaderNames } from '../../platform/limits/too-many-requests.ts'
import { lineFor } from './list-line.ts'
import { shownOrigin } from './page-address.ts'
import { isListed } from './stateful.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `elsewhere`: the route sets its own CORS headers. `any`: pages of every origin may read it, without cookies. The
     * name is not `cors`, because @fastify/cors would read that as its own options, on every request.
     */
    crossOrigin?: 'elsewhere' | 'any'
  }
}

/**
 * Tests whether pages of this origin may read responses: as configured, otherwise by the stateful list (in production
 * only https, never loopback).
 */
export const isAllowedOrigin = (origin: string, config: Config): boolean => corsProblem(origin, config) === null

/** Explains why pages of this origin cannot read responses; null if they can. */
export function corsProblem(origin: string, config: Config): Advice | null {
  const { app, cors, stateful } = config
  // Forms and scripts of svc's own pages send it too.
  if (origin === app.url) return null
  const page = shownOrigin(origin)
  if (cors.origins) {
    if (cors.origins.includes(origin)) return null
    const message = `cors.origins does not list ${page}, so its pages cannot read responses.`
    return { message: message + lineFor('cors.origins', origin, config), key: 'cors.origins' }
  }
  if (!isListed(origin, stateful)) {
    const message = `The stateful list, from which the CORS origins are derived, does not match ${page}.`
    return { message: message + lineFor('stateful', origin, config), key: 'stateful' }
  }
  if (app.environment !== 'production') return null
  if (origin.startsWith('https://') && !isLoopback(new URL(origin).hostname)) return null
  const message = `In production, the stateful list allows only https origins that are not loopback, not ${page}.`
  return { message, key: 'cors.origins' }
}

const exposedHeaders = [...limitHeaderNames, ...deprecationHeaders, 'X-Retry-After'].join(', ')

/** Adds CORS headers to every native route, including errors, for the active configuration. */
export async function addCors(app: FastifyInstance): Promise<void> {
  await app.register(fastifyCors, {
    delegator: (request, done) => {
      const { crossOrigin } = request.routeOptions.config
      if (crossOrigin === 'elsewhere') return done(null, { origin: false })
      const config = app.config.current()
      const { origin } = request.headers
      const problem = origin === undefined ? null : corsProblem(origin, config)
      const isForAll = problem !== null && crossOrigin === 'any' && config.guard.diagnose
      if (problem && !isForAll && config.guard.diagnose)
        logAdvice(request.log, 'origin refused', problem, { origin: shownOrigin(origin ?? '') })
      done(null, {
        origin: isForAll ? '*' : origin !== undefined && problem === null ? origin : false,
        credentials: !isForAll && config.cors.supports_credentials,
        methods: 'GET, HEAD, POST, PUT, PATCH, DELETE',
        exposedHeaders,
        maxAge: 7200,
        strictPreflight: false,
      })
    },
  })
}
