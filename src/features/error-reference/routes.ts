import type { FastifyPluginAsync } from 'fastify'
import { addPages } from '../../pages/pages.ts'
import { describeErrors, errorCatalogue } from '../../platform/errors.ts'
import { errorTitle } from '../../platform/http/problem-details.ts'

/** Splits a text at its code marks: every second part is code. */
const partsOf = (text: string): string[] => text.split('`')

/** The page that the `type` of problem details (RFC 9457) points at. */
const errorReference: FastifyPluginAsync = async (app) => {
  await addPages(app)
  const errors = describeErrors([errorCatalogue, ...app.features.map((feature) => feature.errors ?? {})]).map(
    ({ code, status, meaning, remedy }) => ({
      code,
      title: errorTitle(code),
      status: status.join(' or '),
      meaning: partsOf(meaning),
      remedy: partsOf(remedy),
    }),
  )

  app.get(
    '/errors',
    {
      config: { access: { family: 'none' } },
      schema: {
        operationId: 'showErrors',
        tags: ['Pages'],
        summary: 'Page: error codes, for developers',
        description:
          'Lists each `code` with its status, its meaning and the remedy. The `type` of problem details (RFC 9457) links here.',
      },
    },
    async (_request, reply) => reply.page('errors', { title: 'Error codes', errors }),
  )
}

export default errorReference
