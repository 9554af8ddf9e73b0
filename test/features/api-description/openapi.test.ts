// engine: none
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'
import t from 'tap'
import { nameSchemas } from '../../../src/platform/http/description/named-schemas.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { dereferenced } from '../../support/openapi.ts'
import { exampleUrl, openApiPath, openOperations, routedPaths } from '../../support/routes.ts'

interface Answer {
  description?: string
  content?: Record<string, { schema?: { properties?: Record<string, unknown> } }>
}

interface Schema {
  type?: string
  format?: string
  description?: string
  $ref?: string
  properties?: Record<string, Schema>
}

interface Operation {
  operationId?: string
  summary?: string
  description?: string
  tags?: [string]
  security?: Record<string, string[]>[]
  parameters?: { name: string; in: string }[]
  requestBody?: { content: Record<string, { schema: { type?: string; properties?: object } }> }
  responses: Record<string, Answer>
}

/** The parts of an OpenAPI description that the tests read. */
type Description = {
  openapi: string
  info: { title: string; version: string }
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { securitySchemes: Record<string, object> }
}

/** Operations without a request body in the contract, although their method may have one. */
const withoutBody = new Set([
  'POST /svc/passkeys/options',
  'POST /logout',
  'PUT /admin/v1/groups/{name}/members/{id}',
  'PUT /admin/v1/groups/{name}/members/{id}',
  'POST /oauth/sign-out',
  'POST /oauth/verify-email',
  'POST /email/undo/{id}/{signature}',
  'POST /oauth/unlock/{id}',
  'POST /email/verification-notification',
  'POST /user/two-factor-recovery-codes',
  'POST /user/confirmation-code',
  'POST /account/two-factor/browsers/{id}/revoke',
  'POST /account/two-factor/disable',
  'POST /account/sessions/{id}/end',
  'POST /account/sessions/devices/{id}/end',
  'POST /account/sessions/others',
  'POST /account/passkeys/{id}/remove',
  'POST /account/two-factor/recovery-codes',
  'POST /account/applications/{id}/disconnect',
  'POST /account/applications/agents/{client_id}/end',
  'POST /account/applications/agents/{client_id}/allow',
  'PUT /oauth/agents/{client_id}',
  'POST /account/tokens/{id}/revoke',
  'POST /account/providers/{id}/link',
  'POST /account/providers/{id}/unlink',
  'POST /account/personal-tokens/{id}/revoke',
])

const described = async (svc: TestApp): Promise<Description> =>
  dereferenced((await svc.app.inject('/openapi.json')).json<Description>())

/** Tags of operations that take forms: pages, and the endpoints of OAuth. */
const pages = new Set(['Pages', 'Account pages', 'Test page', 'OpenID Connect'])

/** Providers post a form there. */
const isCallback = (name: string): boolean => name === 'POST /auth/{provider}/callback'

/** DELETE operations with a body. */
const withBody = new Set(['DELETE /user/other-sessions'])

const byClient = [['basic'], []]
const byToken = [['bearer'], ['dpop']]

/** Endpoints of the OAuth protocol that authenticate clients, or tokens of the protocol. */
const clientAuthentication: Record<string, string[][]> = {
  'POST /oauth/token': byClient,
  'POST /oauth/device/code': byClient,
  'POST /oauth/introspect': byClient,
  'POST /oauth/revoke': byClient,
  'POST /oauth/par': byClient,
  'GET /oauth/userinfo': byToken,
  'POST /oauth/userinfo': byToken,
}

const operations = ({ paths }: Description) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  )

t.test('the description is valid OpenAPI 3.1', async (t) => {
  const svc = await buildTestApp(t, { settings: { app: { name: 'Acme', url: 'https://id.example' } } })
  const description = (await svc.app.inject('/openapi.json')).json<Description>()
  const result = await new Validator().validate({ ...description })
  t.same(result, { valid: true })
  t.match(description, { openapi: /^3\.1\./, info: { title: 'Acme' }, servers: [{ url: 'https://id.example' }] })
  t.match(description.info.version, /^\d+\.\d+\.\d+/)
  t.same((await new Validator().validate({ ...description, paths: { '/x': { get: { responses: 1 } } } })).valid, false)
})

t.test('describes every route except HEAD, preflights and 405 answers', async (t) => {
  const svc = await buildTestApp(t)
  const { paths } = await described(svc)
  const routes = routedPaths(svc.app).filter(({ path }) => path !== '*')
  t.same(routes.map(({ path }) => openApiPath(path)).sort(), Object.keys(paths).sort(), 'the same paths')
  for (const { path, methods } of routes) {
    const known = Object.keys(paths[openApiPath(path)] ?? {}).map((method) => method.toUpperCase())
    for (const method of methods.filter((candidate) => !known.includes(candidate))) {
      // Every method gets the same answer.
      if (path === '/svc/guard') continue
      if (method === 'OPTIONS' || (method === 'HEAD' && known.includes('GET'))) continue
      const answer = await svc.app.inject({ method: method as 'GET', url: exampleUrl(path) })
      t.equal(answer.statusCode, 405, `${method} ${path} is not described`)
    }
  }
})

t.test('describes the purpose, the input and the responses of each operation', async (t) => {
  const svc = await buildTestApp(t)
  const ids = new Set<string>()
  const description = await described(svc)
  const known = new Set(description.tags.map((tag) => tag.name))
  for (const { name, path, operation } of operations(description)) {
    const { operationId = '', summary, tags, responses, parameters = [], requestBody } = operation
    t.match(operationId, /^[a-z]+[A-Za-z0-9]{2,39}$/, `${name} has an id of at most 40 characters`)
    t.ok(tags?.length === 1 && known.has(tags[0]), `${name} has a known tag`)
    t.notOk(ids.has(operationId), `${operationId} is unique`)
    ids.add(operationId)
    t.ok(summary, `${name} has a summary`)
    t.ok(operation.description, `${name} has a description`)
    const statuses = Object.keys(responses).map(Number)
    t.ok(
      statuses.some((status) => status >= 200 && status < 400),
      `${name} describes its success`,
    )
    for (const [status, answer] of Object.entries(responses)) {
      t.not(answer.description, 'Default Response', `${name} describes ${status}`)
      if (Number(status) < 400 || path === '/health/ready') continue
      const schema = answer.content?.['application/json']?.schema
      // A form that is shown again with its errors.
      const isForm = answer.content?.['text/html'] !== undefined
      const isOurs = schema?.properties?.message && schema.properties.code
      t.ok(isForm || isOurs || schema?.properties?.error, `${name} describes ${status} as an error`)
    }
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    t.same(
      parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name),
      inPath,
      `${name} names the parameters of its path`,
    )
    const takesBody = withBody.has(name) || (/^(POST|PUT|PATCH) /.test(name) && !withoutBody.has(name))
    t.equal(requestBody !== undefined, takesBody, `${name} describes its body`)
    if (requestBody) {
      const [media = '', { schema } = {}] = Object.entries(requestBody.content)[0] ?? []
      // JSON lines are text.
      const isLines = media === 'application/x-ndjson'
      t.ok(isLines || schema?.properties, `${name} names the fields of its body`)
      const isForm = media === 'application/x-www-form-urlencoded'
      t.equal(isForm, pages.has(tags?.[0] ?? '') || isCallback(name), `${name} takes ${media}`)
      // OAuth uses one error for every invalid request. An import reports the errors of each line.
      const isProtocol = tags?.[0] === 'OpenID Connect'
      for (const status of isProtocol ? [400] : [400, 413, 415, ...(isLines ? [] : [422])])
        t.ok(statuses.includes(status), `${name} describes ${status}`)
    }
  }
})

t.test('describes the authentication that each operation requires', async (t) => {
  const svc = await buildTestApp(t)
  const description = await described(svc)
  const schemes = Object.keys(description.components.securitySchemes)
  t.same(schemes.sort(), ['basic', 'bearer', 'dpop', 'oauth2', 'openIdConnect', 'session'])
  for (const { name, operation } of operations(description)) {
    const { security, responses } = operation
    if (!security) {
      t.fail(`${name} has no security`)
      continue
    }
    if (name in clientAuthentication) {
      t.same(
        security.map((each) => Object.keys(each)),
        clientAuthentication[name],
        `${name} describes its authentication`,
      )
      continue
    }
    t.equal(
      security.length === 0,
      openOperations.has(name),
      `${name} is ${openOperations.has(name) ? 'open' : 'protected'}`,
    )
    for (const scheme of security.flatMap((each) => Object.keys(each))) t.ok(schemes.includes(scheme))
    if (!openOperations.has(name)) t.ok(responses['401'], `${name} describes 401`)
    if (!openOperations.has(name) && !name.startsWith('GET ')) t.ok(responses['419'], `${name} describes 419`)
  }
  for (const name of openOperations)
    t.ok(
      operations(description).some((operation) => operation.name === name),
      `${name} exists`,
    )
})

t.test('omits disabled features and adds enabled ones', async (t) => {
  const svc = await buildTestApp(t, {
    settings: {
      samples: false,
      test_page: false,
      compat: { prefixes: ['svc', 'sanctum'] },
      rate_limits: { global: '1000/1m' },
    },
  })
  const { paths } = await described(svc)
  t.notOk(Object.keys(paths).some((path) => /^\/(test-|orders|server|api\/task)/.test(path)))
  t.ok(paths['/sanctum/csrf-cookie']?.get && paths['/sanctum/token']?.post)
  t.ok(paths['/api/user']?.get?.responses['429'], 'with a global limit every operation describes 429')
})

t.test('gives every JSON body and JSON response an example that fits its schema', async (t) => {
  const svc = await buildTestApp(t)
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const { paths } = await described(svc)
  for (const [path, methods] of Object.entries(paths)) {
    for (const { operationId, requestBody, responses } of Object.values(methods)) {
      for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)] as Answer[]) {
        const media = content['application/json'] as { schema?: object; examples?: { default?: { value?: unknown } } }
        if (!media) continue
        const value = media.examples?.default?.value
        t.not(value, undefined, `${operationId} (${path}) has an example`)
        t.ok(ajv.validate({ ...media.schema }, value), `${operationId}: ${JSON.stringify(value)} ${ajv.errorsText()}`)
      }
    }
  }
})

t.test('names each schema once and refers to it', async (t) => {
  const svc = await buildTestApp(t)
  const document = (await svc.app.inject('/openapi.json')).json()
  const { schemas, responses } = document.components
  for (const name of ['User', 'Token', 'Problem', 'ValidationProblem']) t.ok(schemas[name], name)
  t.same(document.paths['/api/tokens'].get.responses['401'], { $ref: '#/components/responses/Unauthenticated' })
  t.match(responses.TooManyRequests.headers, { 'Retry-After': { schema: { type: 'integer' } } })
  const text = JSON.stringify(document.paths)
  t.notMatch(text, /"title":"[A-Z]\w*"/, 'no operation repeats a named schema')
})

t.test('describes the type and the meaning of every field, and no keyword of svc', async (t) => {
  const svc = await buildTestApp(t)
  const document = (await svc.app.inject('/openapi.json')).json()
  const schemas: Record<string, Schema> = document.components.schemas
  const meaningOf = ({ description, $ref }: Schema) =>
    description ?? schemas[$ref?.split('/').at(-1) ?? '']?.description
  for (const [name, { properties = {} }] of Object.entries(schemas)) {
    for (const [field, schema] of Object.entries(properties)) {
      t.ok(meaningOf(schema), `${name}.${field} has a description`)
      // Generators make 32-bit integers of others, which ids and Unix seconds exceed.
      const isLarge = schema.type === 'integer' && /(^|_)(id|exp|iat)$/.test(field)
      if (isLarge) t.equal(schema.format, 'int64', `${name}.${field} is int64`)
      t.ok(
        ['type', '$ref', 'anyOf'].some((key) => key in schema),
        `${name}.${field}`,
      )
    }
  }
  t.notMatch(JSON.stringify(document), /"x-[a-z-]+":/)
})

t.test('rejects two schemas with one name', async (t) => {
  const document = { a: { title: 'User', type: 'string' }, b: { title: 'User', type: 'object' } }
  t.throws(() => nameSchemas(document), { message: /^Two schemas have the title User\./ })
})
