import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { acceptedVersion } from '../../auth/access/accepted-terms.ts'
import { requireUser } from '../../auth/access/caller.ts'
import { visitOf } from '../../auth/access/visit.ts'
import { notFound } from '../../platform/errors.ts'
import { EmptyAnswer, sendEmpty } from '../../platform/http/empty-answer.ts'
import { Type } from '../../platform/json-schema.ts'
import { accept } from './accept.ts'

const TermsAnswer = Type.Object(
  {
    version: Type.String({ description: 'The current version.' }),
    url: Type.String({ description: 'The page with the terms.' }),
  },
  { title: 'Terms', description: 'The terms that users must accept.' },
)

const AcceptBody = Type.Object(
  { version: Type.String({ maxLength: 50, description: 'The version that the user accepts.' }) },
  { title: 'AcceptTermsRequest', additionalProperties: false },
)

/** The current terms, and their acceptance. */
const terms: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/terms',
    {
      config: { access: { family: 'none' }, needsDatabase: false, alsoAnswers: [404] },
      schema: {
        operationId: 'getTerms',
        tags: ['Account'],
        summary: 'Get the current terms of service',
        description: '404 without terms.',
        response: { 200: TermsAnswer },
      },
    },
    async () => {
      const { version, url } = app.config.current().terms
      if (version === null || url === null) throw notFound()
      return { version, url }
    },
  )

  app.post(
    '/user/terms',
    {
      config: { access: { family: 'session', caller: 'required' }, unverified: 'allowed' },
      schema: {
        operationId: 'acceptTerms',
        tags: ['Account'],
        summary: 'Accept the terms of service',
        description:
          'Accepts the current version, with a session. 422 for another version: show the user the current terms. Does nothing without terms.',
        body: AcceptBody,
        response: { 200: EmptyAnswer },
      },
    },
    async (request, reply) => {
      const config = app.config.current()
      const version = acceptedVersion(config, request.body.version, 'version')
      await accept(visitOf(request), requireUser(request).id, version)
      return sendEmpty(reply, 200)
    },
  )
}

export default terms
