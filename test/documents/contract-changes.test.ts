// engine: none
import t from 'tap'

type Json = Record<string, unknown>

const { breakingChanges: changesOf }: { breakingChanges(before: object, after: object): string[] } = await import(
  String(new URL('../../.dev/contract-changes.mjs', import.meta.url))
)

const nothing = { api: { paths: {} }, configuration: {}, commands: {}, events: [], webhooks: {}, metrics: {} }

/** Compares two versions that differ in some parts only. */
const partChanges = (before: object, after: object) => changesOf({ ...nothing, ...before }, { ...nothing, ...after })
const breakingChanges = (before: object, after: object) => partChanges({ api: before }, { api: after })

const named = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }

/** A description with one operation. */
const document = (operation: Json = {}, schemas: Json = {}) => ({
  paths: {
    '/things/{id}': {
      put: {
        operationId: 'changeThing',
        security: [{ session: [] }, { bearer: [] }],
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  name: { type: 'string', maxLength: 10 },
                  kind: { enum: ['a', 'b'] },
                  count: { type: ['integer', 'null'], maximum: 5 },
                },
                required: ['name'],
              },
            },
          },
        },
        responses: {
          200: {
            headers: { ETag: { schema: { type: 'string' } } },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
          404: { $ref: '#/components/responses/NotFound' },
        },
        ...operation,
      },
    },
  },
  components: {
    responses: { NotFound: { content: { 'application/json': { schema: named } } } },
    schemas: {
      Thing: {
        type: 'object',
        properties: { id: { type: 'integer' }, tags: { type: 'array', items: named } },
        required: ['id'],
      },
      ...schemas,
    },
  },
})

const body = (schema: Json, required = true) => ({
  requestBody: { required, content: { 'application/json': { schema } } },
})
const before = document()
const request = before.paths['/things/{id}'].put.requestBody.content['application/json'].schema
const { responses, parameters } = before.paths['/things/{id}'].put
const thing = before.components.schemas.Thing

t.test('finds each kind of breaking change', async (t) => {
  const changes: [string, object][] = [
    ['removed', { ...before, paths: {} }],
    ['operation id changed from changeThing to changeIt', document({ operationId: 'changeIt' })],
    ['authentication by bearer removed', document({ security: [{ session: [] }] })],
    ['response 404 removed', document({ responses: { 200: responses[200] } })],
    [
      'response 200 application/json removed',
      document({ responses: { ...responses, 200: { headers: { ETag: {} }, content: {} } } }),
    ],
    [
      'response 200 header ETag removed',
      document({ responses: { ...responses, 200: { content: responses[200].content } } }),
    ],
    [
      'response 200 application/json.tags removed',
      document({}, { Thing: { ...thing, properties: { id: thing.properties.id } } }),
    ],
    ['response 200 application/json.id can be absent', document({}, { Thing: { ...thing, required: [] } })],
    [
      'response 200 application/json.id can have the type null',
      document({}, { Thing: { ...thing, properties: { ...thing.properties, id: { type: ['integer', 'null'] } } } }),
    ],
    [
      'response 200 application/json.tags[].name removed',
      document(
        {},
        {
          Thing: { ...thing, properties: { ...thing.properties, tags: { type: 'array', items: { type: 'object' } } } },
        },
      ),
    ],
    ['parameter id (path) removed', document({ parameters: [] })],
    [
      'parameter x (query) is new and required',
      document({ parameters: [...parameters, { name: 'x', in: 'query', required: true }] }),
    ],
    ['the request body removed', document({ requestBody: undefined })],
    ['request.kind is required', document(body({ ...request, required: ['name', 'kind'] }))],
    [
      'request.x is required',
      document(body({ ...request, properties: { ...request.properties, x: {} }, required: ['name', 'x'] })),
    ],
    [
      'request.kind removed',
      document(body({ ...request, properties: { name: request.properties.name, count: request.properties.count } })),
    ],
    [
      'request.kind no longer accepts "b"',
      document(body({ ...request, properties: { ...request.properties, kind: { enum: ['a'] } } })),
    ],
    [
      'request.count no longer accepts the type null',
      document(body({ ...request, properties: { ...request.properties, count: { type: 'integer', maximum: 5 } } })),
    ],
    [
      'request.name has a stricter maxLength',
      document(body({ ...request, properties: { ...request.properties, name: { type: 'string', maxLength: 9 } } })),
    ],
  ]
  for (const [change, after] of changes) t.same(breakingChanges(before, after), [`PUT /things/{id}: ${change}`], change)
})

t.test('requires a decision for a public operation that asks for authentication', async (t) => {
  const open = document({ security: [] })
  t.same(breakingChanges(open, before), ['PUT /things/{id}: authentication is required'])
  t.same(breakingChanges(before, open), [])
})

t.test('accepts additions and looser rules', async (t) => {
  const more = document(
    {
      description: 'Changed.',
      parameters: [...parameters, { name: 'x', in: 'query', schema: { type: 'string' } }],
      responses: { ...responses, 429: {} },
      security: [{ session: [] }, { bearer: [] }, { dpop: [] }],
      ...body(
        {
          ...request,
          properties: {
            ...request.properties,
            name: { type: ['string', 'null'], maxLength: 20 },
            kind: { enum: ['a', 'b', 'c'] },
            count: { type: ['number', 'null'] },
            x: { type: 'string' },
          },
          required: [],
        },
        false,
      ),
    },
    { Thing: { ...thing, properties: { ...thing.properties, x: { type: 'string' } }, required: ['id', 'tags'] } },
  )
  const after = { ...more, paths: { ...more.paths, '/others': { get: { responses: {} } } } }
  t.same(breakingChanges(before, after), [])
  t.same(breakingChanges(before, before), [])
})

t.test('finds breaking changes of the configuration, commands, events, webhooks and metrics', async (t) => {
  const key = { type: 'string', enum: ['a', 'b'] }
  const configuration = { type: 'object', properties: { section: { type: 'object', properties: { key } } } }
  const command = { arguments: ['id', '[name]'], options: { force: 'flag', role: 'value' }, aliases: ['old'] }
  const message = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
  const metric = { type: 'counter', labels: ['route', 'status'] }
  const before = {
    configuration,
    commands: { add: command },
    events: ['login'],
    webhooks: message,
    metrics: { m: metric },
  }
  const withKey = (section: object) => ({ configuration: { ...configuration, properties: { section } } })
  const withCommand = (more: object) => ({ commands: { add: { ...command, ...more } } })
  const cases: [string, object][] = [
    ['configuration.section.key removed', withKey({ type: 'object', properties: {} })],
    [
      'configuration.section.key no longer accepts "b"',
      withKey({ type: 'object', properties: { key: { type: 'string', enum: ['a'] } } }),
    ],
    ['configuration.section.key is required', withKey({ type: 'object', properties: { key }, required: ['key'] })],
    ['command add: removed', { commands: {} }],
    ['command add: --role removed', withCommand({ options: { force: 'flag' } })],
    ['command add: --force is now a value', withCommand({ options: { force: 'value', role: 'value' } })],
    ['command add: the alias old removed', withCommand({ aliases: [] })],
    ['command add: an argument removed', withCommand({ arguments: ['id'] })],
    ['command add: <role> is required', withCommand({ arguments: ['id', 'role'] })],
    ['event login: removed', { events: [] }],
    ['webhook message.id removed', { webhooks: { ...message, properties: {} } }],
    ['metric m: removed', { metrics: {} }],
    ['metric m: is now a gauge', { metrics: { m: { ...metric, type: 'gauge' } } }],
    ['metric m: the label status removed', { metrics: { m: { ...metric, labels: ['route'] } } }],
  ]
  for (const [change, after] of cases) t.same(partChanges(before, { ...before, ...after }), [change], change)
  const more = {
    ...withKey({ type: 'object', properties: { key: { type: 'string', enum: ['a', 'b', 'c'] }, other: {} } }),
    commands: {
      ...before.commands,
      add: { ...command, arguments: ['id', '[name]', '[x]'], options: { ...command.options, x: 'flag' } },
    },
    events: ['login', 'logout'],
    metrics: { m: { ...metric, labels: ['route', 'status', 'method'] }, n: metric },
  }
  t.same(partChanges(before, { ...before, ...more }), [], 'additions')
})
