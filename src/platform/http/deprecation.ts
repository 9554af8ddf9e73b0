import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Step } from './step.ts'

/** A route that a later version removes. See `docs/versioning.md`. */
export interface Deprecation {
  /** The first day of the deprecation, as `2026-11-22`. */
  since: string
  /** The first day on which the route may be missing. */
  sunset: string
  /** What clients use instead: a method and a path, as in the API description. */
  instead: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    deprecated?: Deprecation
  }
}

/** Headers that announce a deprecation. */
export const deprecationHeaders = ['Deprecation', 'Sunset', 'Link'] as const

/** The fields of a deprecated operation in the API description. */
export const describeDeprecation = ({ since, sunset, instead }: Deprecation, description = '') => ({
  deprecated: true,
  description:
    `${description}\n\nDeprecated since ${since}, and may be missing from ${sunset}. Use \`${instead}\`.`.trim(),
})

const fragment = (method: string, path: string): string => {
  const described = path
    .replace(/:(\w+)/g, '{$1}')
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
  return `#/paths/${encodeURIComponent(described)}/${method.toLowerCase()}`
}

/** Announces the deprecation of a route on each of its responses, errors included. */
export const deprecation: Step = {
  name: 'deprecation',
  phase: 'onRequest',
  answers: [],
  hooksFor: ({ config, url, method }) => {
    const deprecated = config?.deprecated
    if (!deprecated) return null
    const { since, sunset } = deprecated
    const headers = {
      deprecation: `@${Date.parse(since) / 1000}`,
      sunset: new Date(sunset).toUTCString(),
    }
    const place = fragment(String([method].flat()[0]), url)
    const announce = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
      const description = `${request.server.config.current().app.url}/openapi.json${place}`
      reply.headers({ ...headers, link: `<${description}>; rel="deprecation"; type="application/json"` })
      done()
    }
    return [announce]
  },
}
