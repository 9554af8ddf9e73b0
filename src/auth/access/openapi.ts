import fastifySwagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import type { Config } from '../../platform/config/schema.ts'
import { formType } from '../../platform/http/bodies.ts'
import { describeDeprecation } from '../../platform/http/deprecation.ts'
import { describeInput, describeOutput } from '../../platform/http/description/described-schemas.ts'
import { completeDocument, type SwaggerDocument, xsrfHeaderName } from '../../platform/http/description/document.ts'
import { problemResponse } from '../../platform/http/description/problems.ts'
import { sharedResponse } from '../../platform/http/description/shared-responses.ts'
import { Type } from '../../platform/json-schema.ts'
import type { RouteAccess } from './route-access.ts'

/** OpenAPI 3.1 document of the API. */
export const ApiDescription = Type.Unsafe<object>({
  type: 'object',
  title: 'ApiDescription',
  additionalProperties: true,
  description: 'An OpenAPI 3.1 document.',
})

/** Returns the operation id of a route: `deleteApiTokensId` for `DELETE /api/tokens/:id`. */
function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

const redirect = sharedResponse({
  name: 'Redirect',
  description: 'A redirect.',
  schema: Type.Null(),
  headers: { Location: { type: 'string', description: 'The address of the next page.' } },
})

/** Responses without a body, the same for every operation. */
const bodiless: Readonly<Record<string, object>> = {
  204: sharedResponse({ name: 'NoContent', description: 'Done.', schema: Type.Null() }),
  302: redirect,
  303: redirect,
}

/** A response with a body. Its description is not in the schema, which may be a named one. */
function responseOf(schema: unknown): object {
  const described = Object(describeOutput(schema))
  return { 'x-response-description': described.description ?? 'Success.', ...described }
}

/** Success responses; a page if the route declares none. `reloads`: with strict cookies, the route may answer `reloadPage`. */
function successes(own: Record<string, unknown>, reloads: boolean): Record<string, unknown> {
  const described = Object.entries(own).map(([status, schema]) => [status, bodiless[status] ?? responseOf(schema)])
  const isAnswer = described.some(([status]) => Number(status) < 400)
  const reload = reloads && !(200 in own) ? [[200, reloadPage]] : []
  return Object.fromEntries([...(isAnswer ? reload : [[200, page]]), ...described])
}

const html = { content: { 'text/html': { schema: { type: 'string' } } } }
const page = { description: '#Page An HTML page.', ...html }
/** The page of `strict-cookies.ts`. */
const reloadPage = {
  description: '#Reload With strict cookies, a page that loads the same address again, after a link from another site.',
  ...html,
}

const credentials = (access: RouteAccess) => {
  if (access.family === 'none' || access.caller === 'guest') return []
  return access.family === 'hybrid' ? [{ session: [] }, { bearer: [] }, { dpop: [] }] : [{ session: [] }]
}

/** The parameters and the body of a route. */
const describedInputs = (schema: FastifySchema = {}) =>
  Object.fromEntries(
    (['params', 'querystring', 'body'] as const).flatMap((part) =>
      schema[part] ? [[part, describeInput(schema[part])]] : [],
    ),
  )

/** Returns the described requests of a protocol route, which validates them itself. */
const requestOf = ({ query, body }: ProtocolDescription) => ({
  ...(query ? { querystring: query } : {}),
  ...(body ? { consumes: [formType], body } : {}),
})

/** The header by which a page proves that it may use the session. `completeDocument` replaces it. */
const xsrfHeader = Type.Object({ [xsrfHeaderName]: Type.Optional(Type.String()) })

/** Serves `/openapi.json` (OpenAPI 3.1), built from the declarations that protect and validate each route. */
export async function addOpenApi(app: FastifyInstance, version: string): Promise<void> {
  const { url } = app.config.current().app
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: '',
        version,
        description:
          'Sessions, API tokens, headless authentication, OAuth 2.0 and OpenID Connect.\n\nAny request can also get 400 `malformed_body` if it is invalid HTTP, and 500 `server_error`. An unknown path gets 404 `not_found`, an unsupported method 405 `method_not_allowed`. A browser that opens an address (GET with `text/html` in `Accept`, and not JSON first) gets errors as pages.\n\nWith `session.bound`, a response that signs a browser in has the header `Secure-Session-Registration`, and a browser that kept the cookie of its bound session for too long gets 307 to the same address, without the cookie.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
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
          basic: {
            type: 'http',
            scheme: 'basic',
            description: 'The id and the secret of an OAuth client (RFC 6749 section 2.3.1).',
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
      const { protocol, navigation, deprecated, needsDatabase } = route.config ?? {}
      const reloads = method === 'GET' && access.family === 'session' && navigation !== undefined
      const errors = Object.fromEntries(
        [
          ...(protocol ? [] : (route.config?.stepAnswers ?? [])),
          // Routes that use the database can return 503.
          ...(protocol || !(needsDatabase ?? (access.family !== 'none' || schema?.body)) ? [] : [503]),
          ...(route.config?.alsoAnswers ?? []),
        ]
          .filter((status) => !(status in own))
          .map((status) => [status, problemResponse(status, navigation === 'page')]),
      )
      return {
        schema: {
          operationId: operationId(method, url),
          ...schema,
          ...describedInputs(schema),
          ...(deprecated ? describeDeprecation(deprecated, schema?.description) : {}),
          security: protocol ? protocol.security : credentials(access),
          ...(protocol ? requestOf(protocol) : {}),
          ...(route.config?.stepAnswers?.includes(419) ? { headers: xsrfHeader } : {}),
          response: describeOutput({ ...successes(own, reloads), ...errors }),
        },
        url,
      }
    },
  })
}

/** The flows that client libraries can use, with the scopes of the configuration. */
function protocolSchemes({ app, scopes }: Config): object {
  const at = (path: string) => `${app.url}${path}`
  return {
    oauth2: {
      type: 'oauth2',
      flows: {
        authorizationCode: { authorizationUrl: at('/oauth/authorize'), tokenUrl: at('/oauth/token'), scopes },
        clientCredentials: { tokenUrl: at('/oauth/token'), scopes },
      },
    },
    openIdConnect: { type: 'openIdConnect', openIdConnectUrl: at('/.well-known/openid-configuration') },
  }
}

const documents = new WeakMap<Config, object>()

/** Returns the document with the current service name and scopes. */
export function describedNow(app: FastifyInstance): object {
  const config = app.config.current()
  const known = documents.get(config)
  if (known) return known
  const { components, info, ...described } = structuredClone(app.swagger()) as unknown as SwaggerDocument
  const document = completeDocument({
    ...described,
    info: { ...info, title: config.app.name },
    components: { securitySchemes: { ...components.securitySchemes, ...protocolSchemes(config) } },
  })
  documents.set(config, document)
  return document
}

/** Requests of a protocol route: JSON Schemas of its query and body, and how callers authenticate. */
interface ProtocolDescription {
  query?: object
  body?: object
  security: readonly Record<string, readonly string[]>[]
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Further error statuses of the handler, for the API description. */
    alsoAnswers?: readonly number[]
    /** Whether the route can answer 503. Default: if it looks for a caller or reads a body. */
    needsDatabase?: boolean
    /** A route that validates its requests itself, with its own errors. */
    protocol?: ProtocolDescription
  }
}
