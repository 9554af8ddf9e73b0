import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { visitOf } from '../../auth/access/visit.ts'
import { scimScope } from '../../platform/config/sections/admin.ts'
import { answerOf } from '../../platform/http/error-handler.ts'
import { adminOrigin } from '../admin/api/request.ts'
import { adminOf } from '../admin/api/still-administrator.ts'
import { defaultResults, maxResults, resourceTypes, schemas, serviceProviderConfig } from './discovery.ts'
import { scimType, sendScimError } from './error-hooks.ts'
import { invalidValue, ScimHttpError } from './errors.ts'
import { listFilter } from './filter.ts'
import {
  createScimGroup,
  deleteScimGroup,
  findGroupResource,
  listScimGroups,
  replaceScimGroup,
  wantedGroup,
} from './groups.ts'
import { patched } from './patch.ts'
import { attribute, plain, type Resource, wantedUser, withFullName } from './user-resource.ts'
import {
  createScimUser,
  deleteScimUser,
  type Found,
  findResource,
  listUsers,
  type Page,
  replaceScimUser,
  type Scim,
} from './users.ts'

const guard = { family: 'hybrid', caller: 'required', scope: scimScope } as const
const config = (administrator: 'reads' | 'changes') => ({
  access: { ...guard, administrator },
  limit: 'admin' as const,
})
const [reads, changes] = [
  { config: config('reads'), schema: { hide: true } },
  { config: config('changes'), schema: { hide: true } },
]

const path = '/scim/v2'

type Query = Readonly<Record<string, string | string[] | undefined>>

const queryOf = ({ query }: FastifyRequest): Query => query as Query

const idOf = ({ params }: FastifyRequest): string => (params as { id: string }).id

function scimOf(request: FastifyRequest): Scim {
  const { server } = request
  const base = `${server.config.current().app.url}${path}`
  return { app: server, admin: adminOf(visitOf(request)), origin: adminOrigin(request), base }
}

/** A number of a query; values below the minimum count as the minimum (RFC 7644 section 3.4.2.4). */
function numberIn(query: Query, name: string, { minimum, fallback }: { minimum: number; fallback: number }): number {
  const text = query[name]
  if (text === undefined) return fallback
  if (typeof text !== 'string' || !/^-?\d{1,9}$/.test(text)) throw invalidValue(`${name} must be a number.`)
  return Math.max(minimum, Number(text))
}

function pageIn(query: Query): Page {
  const { filter } = query
  if (Array.isArray(filter)) throw new ScimHttpError(400, 'filter must occur once.', 'invalidFilter')
  return {
    startIndex: numberIn(query, 'startIndex', { minimum: 1, fallback: 1 }),
    count: Math.min(maxResults, numberIn(query, 'count', { minimum: 0, fallback: defaultResults })),
    filter: filter === undefined || filter === '' ? null : listFilter(filter),
  }
}

/** The parameters in the body of a search, as those of a query. */
function searchIn({ body }: FastifyRequest): Query {
  const listed = (name: string) => {
    const value = attribute(body, name)
    return value === undefined || value === null ? undefined : [value].flat().map(plain)
  }
  const single = (name: string) => listed(name)?.[0]
  return {
    ...{ filter: single('filter'), startIndex: single('startIndex'), count: single('count') },
    ...{ attributes: listed('attributes'), excludedAttributes: listed('excludedAttributes') },
  }
}

const always = ['schemas', 'id']

/** Leaves out what the client does not want (RFC 7644 section 3.9): whole attributes, also for their parts. */
function selected(resource: Resource, query: Query): Partial<Resource> {
  const names = (name: 'attributes' | 'excludedAttributes') =>
    [query[name] ?? []]
      .flat()
      .flatMap((text) => text.split(','))
      .map((one) => topLevel(one))
  const [wanted, excluded] = [names('attributes'), names('excludedAttributes')]
  const isKept = (key: string) =>
    always.includes(key) ||
    (wanted.length > 0 ? wanted.includes(key.toLowerCase()) : !excluded.includes(key.toLowerCase()))
  // Sound: it leaves members out.
  return Object.fromEntries(Object.entries(resource).filter(([key]) => isKept(key))) as Partial<Resource>
}

const topLevel = (attribute: string): string =>
  attribute
    .trim()
    .replace(/^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i, '')
    .split('.')[0]
    ?.toLowerCase() ?? ''

const send = (reply: FastifyReply, body: object, status = 200): FastifyReply =>
  reply.code(status).header('cache-control', 'no-store').type(scimType).serializer(JSON.stringify).send(body)

function sendResource(request: FastifyRequest, reply: FastifyReply, resource: Resource, status = 200): FastifyReply {
  const { version, location } = resource.meta
  if (version !== undefined) reply.header('etag', version)
  if (status === 201) reply.header('location', location)
  const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim())
  if (status === 200 && request.method === 'GET' && version !== undefined && known?.includes(version))
    return reply.code(304).send()
  return send(reply, selected(resource, queryOf(request)), status)
}

const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'

const sendList = (reply: FastifyReply, query: Query, { total, resources }: Found, startIndex = 1): FastifyReply =>
  send(reply, {
    schemas: [listSchema],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources.map((resource) => selected(resource, query)),
  })

/** Throws 412 unless `If-Match` lists the version (RFC 7644 section 3.14). */
const versionCheck = ({ headers }: FastifyRequest) => {
  const expected = headers['if-match']?.split(',').map((tag) => tag.trim())
  return ({ meta }: Resource): void => {
    if (!expected || expected.includes('*') || (meta.version !== undefined && expected.includes(meta.version))) return
    throw new ScimHttpError(412, 'The resource changed after you fetched it. Fetch it again.')
  }
}

/** Maximum depth of a body. */
const maxDepth = 10

const isDeep = (value: unknown, depth = 0): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (depth === maxDepth || Object.values(value).some((part) => isDeep(part, depth + 1)))

/** SCIM 2.0 (RFC 7643, RFC 7644): users and groups, for directories that provision them. */
const scim: FastifyPluginAsync = async (app) => {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser(/^application\/scim\+json/, { parseAs: 'string' }, (request, text, done) =>
    parseJson(request, String(text), (error, value) => {
      if (!error && isDeep(value)) done(new ScimHttpError(400, 'The body is nested too deeply.', 'invalidSyntax'))
      else done(error, value)
    }),
  )
  app.setErrorHandler((error: FastifyError | ScimHttpError, request, reply) =>
    sendScimError(reply, error instanceof ScimHttpError ? error : answerOf(error, request)),
  )

  app.get(`${path}/Users`, reads, async (request, reply) => {
    const query = queryOf(request)
    const page = pageIn(query)
    return sendList(reply, query, await listUsers(scimOf(request), page), page.startIndex)
  })
  app.post(`${path}/Users`, changes, async (request, reply) =>
    sendResource(request, reply, await createScimUser(scimOf(request), wantedUser(request.body)), 201),
  )
  app.get(`${path}/Users/:id`, reads, async (request, reply) =>
    sendResource(request, reply, await findResource(scimOf(request), idOf(request))),
  )
  app.put(`${path}/Users/:id`, changes, async (request, reply) => {
    const [scim, id] = [scimOf(request), idOf(request)]
    await findResource(scim, id)
    const wanted = wantedUser(request.body)
    const replacement = { check: versionCheck(request), wanted: () => wanted }
    return sendResource(request, reply, await replaceScimUser(scim, Number(id), replacement))
  })
  app.patch(`${path}/Users/:id`, changes, async (request, reply) => {
    const [scim, id] = [scimOf(request), idOf(request)]
    await findResource(scim, id)
    const wanted = (current: Resource) => wantedUser(withFullName(current, patched(current, request.body)))
    const replacement = { check: versionCheck(request), wanted }
    return sendResource(request, reply, await replaceScimUser(scim, Number(id), replacement))
  })
  app.delete(`${path}/Users/:id`, changes, async (request, reply) => {
    const [scim, id] = [scimOf(request), idOf(request)]
    await findResource(scim, id)
    await deleteScimUser(scim, Number(id), versionCheck(request))
    return reply.code(204).send()
  })

  const withMembers = (query: Query): boolean =>
    !String(query.excludedAttributes ?? '')
      .toLowerCase()
      .split(',')
      .includes('members')
  app.get(`${path}/Groups`, reads, async (request, reply) => {
    const query = queryOf(request)
    const page = { ...pageIn(query), withMembers: withMembers(query) }
    return sendList(reply, query, await listScimGroups(scimOf(request), page), page.startIndex)
  })
  app.post(`${path}/Groups`, changes, async (request, reply) =>
    sendResource(request, reply, await createScimGroup(scimOf(request), wantedGroup(request.body)), 201),
  )
  app.get(`${path}/Groups/:id`, reads, async (request, reply) =>
    sendResource(
      request,
      reply,
      await findGroupResource(scimOf(request), idOf(request), withMembers(queryOf(request))),
    ),
  )
  app.put(`${path}/Groups/:id`, changes, async (request, reply) => {
    const [scim, id] = [scimOf(request), idOf(request)]
    await findGroupResource(scim, id)
    const { members = [], ...wanted } = wantedGroup(request.body)
    const replacement = { check: versionCheck(request), wanted: () => ({ ...wanted, members }) }
    return sendResource(request, reply, await replaceScimGroup(scim, id, replacement))
  })
  app.patch(`${path}/Groups/:id`, changes, async (request, reply) => {
    const [scim, id] = [scimOf(request), idOf(request)]
    const wanted = (current: Resource) => {
      const { members = [], ...others } = wantedGroup(patched(current, request.body), Number.POSITIVE_INFINITY)
      return { ...others, members }
    }
    const replacement = { check: versionCheck(request), wanted }
    return sendResource(request, reply, await replaceScimGroup(scim, id, replacement))
  })
  app.delete(`${path}/Groups/:id`, changes, async (request, reply) => {
    await deleteScimGroup(scimOf(request), idOf(request), versionCheck(request))
    return reply.code(204).send()
  })

  // Searches are queries in a body, which has no limit of length (RFC 7644 section 3.4.3).
  app.post(`${path}/Users/.search`, reads, async (request, reply) => {
    const query = searchIn(request)
    const page = pageIn(query)
    return sendList(reply, query, await listUsers(scimOf(request), page), page.startIndex)
  })
  app.post(`${path}/Groups/.search`, reads, async (request, reply) => {
    const query = searchIn(request)
    const page = { ...pageIn(query), withMembers: withMembers(query) }
    return sendList(reply, query, await listScimGroups(scimOf(request), page), page.startIndex)
  })
  app.post(`${path}/.search`, reads, async () => {
    throw new ScimHttpError(
      501,
      'svc searches one type of resource at once. Send the request to /Users/.search or /Groups/.search.',
    )
  })
  app.get(`${path}/*`, reads, async () => {
    throw new ScimHttpError(404, `No resource has this address. ${path}/ResourceTypes lists those that exist.`)
  })

  const baseOf = (request: FastifyRequest): string => scimOf(request).base
  app.get(`${path}/ServiceProviderConfig`, reads, async (request, reply) =>
    send(reply, serviceProviderConfig(baseOf(request))),
  )
  for (const [name, all] of [
    ['ResourceTypes', resourceTypes],
    ['Schemas', schemas],
  ] as const) {
    app.get(`${path}/${name}`, reads, async (request, reply) => {
      const resources: { id: string }[] = all(baseOf(request))
      const page = {
        totalResults: resources.length,
        startIndex: 1,
        itemsPerPage: resources.length,
        Resources: resources,
      }
      return send(reply, { schemas: [listSchema], ...page })
    })
    app.get(`${path}/${name}/:id`, reads, async (request, reply) => {
      const resources: { id: string }[] = all(baseOf(request))
      const found = resources.find(({ id }) => id === idOf(request))
      if (!found) throw new ScimHttpError(404, `${name} has no ${idOf(request)}.`)
      return send(reply, found)
    })
  }
}

export default scim
