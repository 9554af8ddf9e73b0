import fastifySwagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { nameSchemas } from '../http/description/named-schemas.ts'
import { problemComponents, problemReference } from '../http/description/problems.ts'
import type { RouteAccess } from './route-access.ts'

/** OpenAPI 3.1 document of the API. */
export const ApiDescription = Type.Unsafe<object>({
  type: 'object',
  additionalProperties: true,
  description: 'OpenAPI 3.1.',
})

/** `DELETE /api/tokens/:id` is `deleteApiTokensId`. */
function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/** An error response. `referToProblems` replaces it, because the library inlines every response. */
function problem(status: number): object {
  const reference = problemReference(status)
  if (!reference) throw new Error(`The API description has no response for the error status ${status}.`)
  return { type: 'null', description: reference }
}

/** Success responses. A route that declares none returns a page. */
function successes(own: Record<string, unknown>): Record<string, unknown> {
  const described = Object.entries(own).map(([status, schema]) => [
    status,
    { description: 'Success.', ...Object(schema) },
  ])
  const isAnswer = described.some(([status]) => Number(status) < 400)
  return Object.fromEntries(isAnswer ? described : [[200, page], ...described])
}

const page = { description: 'A page.', content: { 'text/html': { schema: { type: 'string' } } } }

const credentials = (access: RouteAccess) => {
  if (access.family === 'none' || access.caller === 'guest') return undefined
  return access.family === 'guard' ? [{ session: [] }, { bearer: [] }, { dpop: [] }] : [{ session: [] }]
}

/** Body of a route that parses its form itself. */
const formOf = (fields: readonly string[]) => ({
  consumes: ['application/x-www-form-urlencoded', 'application/json'],
  body: { type: 'object', properties: Object.fromEntries(fields.map((field) => [field, { type: 'string' }])) },
})

/** Serves `/openapi.json` (OpenAPI 3.1), built from the declarations that protect and validate each route. */
export async function addOpenApi(app: FastifyInstance, version: string): Promise<void> {
  const { url } = app.config.current().app
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: '', version, description: 'Sessions, API tokens and headless authentication.' },
      servers: [{ url }],
      components: {
        securitySchemes: {
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: app.cookies.nameOf(app.cookies.session),
            description:
              'Unsafe methods also require the header `X-XSRF-TOKEN` with the value of the cookie `XSRF-TOKEN`.',
          },
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'An API token `<id>|<secret>`, or an access token of the OAuth server.',
          },
          dpop: {
            type: 'http',
            scheme: 'dpop',
            description: 'An access token that is bound to a key, with a proof in the header `DPoP` (RFC 9449).',
          },
        },
      },
    },
    transform: ({ schema, url, route }) => {
      const access = route.config?.access
      if (!access || schema?.hide) return { schema: { ...schema, hide: true }, url }
      const method = String([route.method].flat()[0])
      const own = (schema?.response ?? {}) as Record<string, unknown>
      const { protocol } = route.config ?? {}
      const errors = Object.fromEntries(
        [
          ...(protocol ? [429] : (route.config?.stepAnswers ?? [])),
          // Routes that use the database can return 503.
          ...(protocol || (access.family === 'none' && !schema?.body) ? [] : [503]),
          ...(route.config?.alsoAnswers ?? []),
        ]
          .filter((status) => !(status in own))
          .map((status) => [status, problem(status)]),
      )
      const security = credentials(access)
      return {
        schema: {
          operationId: operationId(method, url),
          ...schema,
          ...(security ? { security } : {}),
          ...(protocol && method === 'POST' ? formOf(protocol.fields) : {}),
          response: { ...successes(own), ...errors },
        },
        url,
      }
    },
  })
}

interface Document {
  info: object
  paths?: Record<string, Record<string, Operation>>
  components?: object
}

interface Operation {
  responses: Record<string, { description: string }>
}

/** Replaces the marked error responses by references. */
const referToProblems = ({ responses, ...operation }: Operation): object => ({
  ...operation,
  responses: Object.fromEntries(
    Object.entries(responses).map(([status, response]) =>
      response.description.startsWith('#/') ? [status, { $ref: response.description }] : [status, response],
    ),
  ),
})

/** Returns the document with the current service name. */
export function describedNow(app: FastifyInstance): object {
  const { info, paths = {}, components, ...described } = app.swagger() as unknown as Document
  const operations = Object.entries(paths).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, referToProblems(operation)])),
  ])
  return nameSchemas({
    ...described,
    info: { ...info, title: app.config.current().app.name },
    paths: Object.fromEntries(operations),
    components: { ...components, responses: problemComponents() },
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Further error statuses of the handler, for the API description. */
    alsoAnswers?: readonly number[]
    /** A protocol route, with its own errors and body parsing; `fields` are its form fields. */
    protocol?: { fields: readonly string[] }
  }
}
