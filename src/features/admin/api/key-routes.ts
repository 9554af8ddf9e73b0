import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { visitOf } from '../../../auth/access/visit.ts'
import { wireDate } from '../../../identity/wire-date.ts'
import { optionalBody } from '../../../platform/http/description/described-schemas.ts'
import { Type } from '../../../platform/json-schema.ts'
import { type Algorithm, algorithms } from '../../oauth/keys/jwk.ts'
import { listedKeys, type RotationMode, rotateKeys } from '../../oauth/keys/manage.ts'
import { adminOrigin, changes, reads, reasonField } from './request.ts'
import { AdminKey } from './schemas.ts'
import { databaseOf } from './still-administrator.ts'

const tags = ['Administration']

const RotateBody = Type.Object(
  {
    algorithm: Type.Optional(
      Type.Unsafe<Algorithm>({
        type: 'string',
        enum: [...algorithms],
        examples: [algorithms[0]],
        description: 'Replaces only the key of this algorithm.',
      }),
    ),
    when: Type.Optional(
      Type.Unsafe<RotationMode>({
        type: 'string',
        enum: ['planned', 'now', 'withdraw'],
        examples: ['planned'],
        description:
          '`planned`: the new keys sign when all caches have them. `now`: after ten seconds. `withdraw`: immediately, and the older keys are deleted, which invalidates everything that they signed. The response then waits until every replica has read the change, which takes six seconds.',
      }),
    ),
    reason: reasonField,
  },
  { title: 'AdminRotateKeysRequest', additionalProperties: false, [optionalBody]: true },
)

const NewKey = Type.Object(
  {
    kid: Type.String({ description: 'The key id.' }),
    algorithm: Type.String({ description: 'The algorithm.' }),
    signs_from: Type.String({ format: 'date-time', description: 'From when the key signs.' }),
  },
  { title: 'AdminNewKey', description: 'A new signing key.' },
)

/** The signing keys. */
const keys: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/admin/v1/keys',
    {
      config: reads,
      schema: {
        operationId: 'adminListKeys',
        tags,
        summary: 'List the signing keys',
        description: 'In the order in which they sign, without their private parts.',
        response: { 200: Type.Array(AdminKey) },
      },
    },
    async () => listedKeys(app, app.clock.now()),
  )

  app.post(
    '/admin/v1/keys/rotate',
    {
      config: changes,
      schema: {
        operationId: 'adminRotateKeys',
        tags,
        summary: 'Create new signing keys',
        description:
          'Returns the new keys. With `planned`, svc creates no key for an algorithm whose next key is already published. The server also rotates keys on schedule.',
        body: RotateBody,
        response: { 200: Type.Array(NewKey) },
      },
    },
    async (request) => {
      const { algorithm, when = 'planned', reason } = request.body
      const asked = { algorithms: algorithm ? [algorithm] : algorithms, mode: when }
      const made = await rotateKeys(
        { config: app.config, database: databaseOf(visitOf(request)) },
        adminOrigin(request, reason),
        asked,
      )
      return made.map(({ kid, algorithm, signsFrom }) => ({
        kid,
        algorithm,
        signs_from: wireDate(new Date(signsFrom)),
      }))
    },
  )
}

export default keys
