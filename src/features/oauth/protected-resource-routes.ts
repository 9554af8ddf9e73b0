import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { notFound } from '../../platform/errors.ts'
import { Type } from '../../platform/json-schema.ts'

const uri = (description: string) => Type.String({ format: 'uri', description })

const ProtectedResource = Type.Object(
  {
    resource: uri('The resource indicator of the API, and the audience of its tokens.'),
    authorization_servers: Type.Array(Type.String({ format: 'uri' }), {
      description: 'The issuer of its tokens: svc.',
    }),
    scopes_supported: Type.Array(Type.String(), { description: 'The scopes that the API advertises.' }),
    bearer_methods_supported: Type.Array(Type.String(), { description: 'How clients send the token: `header`.' }),
  },
  {
    title: 'ProtectedResource',
    description: 'The metadata of an API (RFC 9728 section 2).',
    examples: [
      {
        resource: 'https://orders.example.com',
        authorization_servers: ['https://auth.example.com'],
        scopes_supported: ['orders:read', 'orders:write'],
        bearer_methods_supported: ['header'],
      },
    ],
  },
)

/** Cache age in seconds: the maximum cache age of the key set. */
const maxAge = 600

/**
 * Metadata of the APIs that cannot serve their own (RFC 9728). It has no `jwks_uri`: that is for keys of the API, and
 * clients find the keys of svc through the authorization server.
 */
const protectedResources: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/.well-known/oauth-protected-resource/:name',
    {
      config: { access: { family: 'none' }, crossOrigin: 'elsewhere', alsoAnswers: [404] },
      schema: {
        operationId: 'getProtectedResource',
        tags: ['OpenID Connect'],
        summary: 'Metadata of an API (RFC 9728)',
        description:
          'For an API of `apis` that does not serve its own metadata. A proxy can serve it at `/.well-known/oauth-protected-resource` of the API.',
        params: Type.Object({ name: Type.String({ maxLength: 255, description: 'The name of the API in `apis`.' }) }),
        response: { 200: ProtectedResource },
      },
    },
    async (request, reply) => {
      const { app: settings, apis } = app.config.current()
      const { name } = request.params
      const api = Object.hasOwn(apis, name) ? apis[name] : undefined
      reply.header('access-control-allow-origin', '*')
      if (!api) throw notFound()
      reply.header('cache-control', `public, max-age=${maxAge}`)
      return {
        resource: api.audience,
        authorization_servers: [settings.url],
        scopes_supported: [...(api.advertised_scopes ?? api.scopes)],
        bearer_methods_supported: ['header'],
      }
    },
  )
}

export default protectedResources
