// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'

t.test('describes the parameters and responses of the OAuth endpoints', async (t) => {
  const svc = await buildTestApp(t, { settings: { scopes: { 'orders:read': 'Read your orders' } } })
  const { paths, components } = (await svc.app.inject('/openapi.json')).json()
  const namesOf = (path: string) => paths[path].get.parameters.map(({ name }: { name: string }) => name)
  const authorize = namesOf('/oauth/authorize')
  for (const name of ['client_id', 'redirect_uri', 'code_challenge', 'state', 'scope'])
    t.ok(authorize.includes(name), name)
  const answerOf = (path: string, status = 200, method = 'post') =>
    paths[path][method].responses[status].content['application/json'].schema.$ref
  t.equal(answerOf('/oauth/token'), '#/components/schemas/TokenResponse')
  t.same(paths['/oauth/token'].post.responses['400'], { $ref: '#/components/responses/OAuthInvalidRequest' })
  t.equal(answerOf('/oauth/par', 201), '#/components/schemas/PushedAuthorizationRequest')
  const keys = paths['/.well-known/jwks.json'].get.responses['200'].content
  t.same(keys, { 'application/jwk-set+json': { schema: { $ref: '#/components/schemas/JsonWebKeySet' } } })
  t.match(components.securitySchemes.oauth2.flows.clientCredentials, {
    tokenUrl: 'http://localhost:8000/oauth/token',
    scopes: { 'orders:read': 'Read your orders' },
  })
  t.equal(paths['/oauth/token'].post.requestBody.required, true)
  t.equal(paths['/oauth/device/code'].post.requestBody.required, false, 'a client that uses HTTP Basic needs no body')
  t.same(components.schemas.PushAuthorizationRequestForm.required, ['client_id', 'response_type'])
  t.same(namesOf('/oauth/device'), ['user_code'], 'only the form has an XSRF token')
  t.same(paths['/logout'].post.parameters, [{ $ref: '#/components/parameters/XsrfToken' }])
  t.match(components.parameters.XsrfToken, { name: 'X-XSRF-TOKEN', in: 'header' })
})
