import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requireAbilities, requireAbility } from '../../auth/access/abilities.ts'
import { callerOf } from '../../auth/access/caller.ts'
import { forbidden, notFound } from '../../platform/errors.ts'
import { idParameter } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'
import { createTask, listTasks, putServer } from './store.ts'

/** Ids are JSON numbers; larger ones would lose precision. */
const maxServerId = BigInt(Number.MAX_SAFE_INTEGER)

const orders = [
  { id: 1, status: 'placed' },
  { id: 2, status: 'shipped' },
]

const id = (description: string) => Type.Integer({ format: 'int64', description })
const text = (description: string) => Type.String({ minLength: 1, maxLength: 255, description })

const OrderSchema = Type.Object(
  { id: id('The id of the order.'), status: text('`placed` or `shipped`.') },
  { title: 'SampleOrder', description: 'An order.' },
)
const ServerBody = Type.Object(
  { name: text('The new name.') },
  { title: 'UpdateSampleServerRequest', additionalProperties: false },
)
const ServerSchema = Type.Object(
  { id: id('The id of the server.'), name: text('The name.'), user_id: id('The id of the owner.') },
  { title: 'SampleServer', description: 'A server.' },
)
const TaskBody = Type.Object(
  { title: text('What to do.') },
  { title: 'CreateSampleTaskRequest', additionalProperties: false },
)
const TaskSchema = Type.Object(
  { id: id('The id of the task.'), title: text('What to do.') },
  { title: 'SampleTask', description: 'A task.' },
)

/** Sample routes that show how abilities protect an API: a manual check, all of a list, any of a list. */
const samples: FastifyPluginAsyncTypebox = async (app) => {
  app.put(
    '/server/:id',
    {
      config: { access: { family: 'hybrid', caller: 'required' }, alsoAnswers: [403] },
      schema: {
        operationId: 'updateSampleServer',
        tags: ['Samples'],
        summary: 'Sample: rename your server',
        description:
          'Checks the ability `server:update` in the handler. Creates the server if it does not exist. 403 if it belongs to another user.',
        params: Type.Object({ id: idParameter('The id of the server.') }),
        body: ServerBody,
        response: { 200: ServerSchema },
      },
      preValidation: async (request) => {
        const caller = callerOf(request)
        requireAbility(caller, 'server:update')
        if (!caller.user) throw forbidden()
      },
    },
    async (request) => {
      const id = BigInt(request.params.id)
      if (id > maxServerId) throw notFound()
      const { user } = callerOf(request)
      const server = user && (await putServer(app.database, id, request.body.name, user.id))
      if (!server) throw forbidden()
      return server
    },
  )

  app.get(
    '/orders',
    {
      config: { access: { family: 'hybrid', caller: 'required' }, alsoAnswers: [403] },
      schema: {
        operationId: 'listSampleOrders',
        tags: ['Samples'],
        summary: 'Sample: orders',
        description: 'Requires the abilities `check-status` and `place-orders`. With `any=1`, one of them is enough.',
        querystring: Type.Object({
          any: Type.Optional(Type.String({ description: '`1`: one of the abilities is enough.' })),
        }),
        response: { 200: Type.Array(OrderSchema) },
      },
    },
    async (request) => {
      const list = ['check-status', 'place-orders']
      requireAbilities(callerOf(request), request.query.any === '1' ? { any: list } : { all: list })
      return orders
    },
  )

  app.get(
    '/api/task',
    {
      config: { access: { family: 'hybrid', caller: 'required', abilities: { all: ['view-tasks'] } } },
      schema: {
        operationId: 'listSampleTasks',
        tags: ['Samples'],
        summary: 'Sample: your tasks',
        description: 'Requires the ability `view-tasks`. Returns at most 100 tasks.',
        response: { 200: Type.Array(TaskSchema) },
      },
    },
    async (request) => listTasks(app.database, callerOf(request).user?.id ?? null),
  )

  app.post(
    '/api/task',
    {
      config: { access: { family: 'hybrid', caller: 'required' } },
      schema: {
        operationId: 'createSampleTask',
        tags: ['Samples'],
        summary: 'Sample: add a task',
        description: 'Requires authentication, and no ability.',
        body: TaskBody,
        response: { 201: TaskSchema },
      },
    },
    async (request, reply) => {
      const task = await createTask(app.database, request.body.title, callerOf(request).user?.id ?? null)
      return reply.code(201).send(task)
    },
  )
}

export default samples
