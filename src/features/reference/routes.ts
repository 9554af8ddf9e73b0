import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { addPageHeaders } from '../../pages/page-headers.ts'
import { pageAnswers } from '../../pages/pages.ts'
import { notFound } from '../../platform/errors.ts'
import { Type } from '../../platform/json-schema.ts'

const require = createRequire(import.meta.url)

/** The folder of Swagger UI. It is a development package, so that production installs stay small. */
function swaggerUi(): string {
  try {
    return dirname(require.resolve('swagger-ui-dist/package.json'))
  } catch {
    throw notFound('The API reference needs the development packages. Start svc with `npm run dev`.')
  }
}

const files: Readonly<Record<string, () => string>> = {
  'swagger-ui.css': () => join(swaggerUi(), 'swagger-ui.css'),
  'swagger-ui-bundle.js': () => join(swaggerUi(), 'swagger-ui-bundle.js'),
  'reference.js': () => join(import.meta.dirname, 'reference.js'),
}

const types: Readonly<Record<string, string>> = { '.css': 'text/css', '.js': 'text/javascript' }

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<main id="reference"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script type="module" src="/docs/reference.js"></script>
`

/** The reference of the API, made from `/openapi.json`. Development only. */
const reference: FastifyPluginAsyncTypebox = async (app) => {
  await addPageHeaders(app)

  app.get(
    '/docs',
    {
      config: { access: { family: 'none' }, alsoAnswers: [404] },
      schema: {
        operationId: 'showApiReference',
        tags: ['Pages'],
        summary: 'Page: API reference',
        description: 'In development only. 404 without the development packages, which `npm run dev` installs.',
        response: { 200: pageAnswers.page },
      },
    },
    async (_request, reply) => {
      swaggerUi()
      // The icons of Swagger UI are data URLs.
      const policy = String(reply.getHeader('content-security-policy'))
      reply.header('content-security-policy', policy.replace('img-src', 'img-src data:'))
      return reply.type('text/html; charset=utf-8').send(page)
    },
  )

  app.get(
    '/docs/:file',
    {
      config: { access: { family: 'none' }, alsoAnswers: [404] },
      schema: {
        operationId: 'getApiReferenceAsset',
        tags: ['Pages'],
        summary: 'Script or style of the API reference',
        description: 'Development only.',
        params: Type.Object({ file: Type.Enum(Object.keys(files)) }),
        response: {
          200: {
            description: 'A script or a style.',
            content: { 'text/javascript': { schema: { type: 'string' } }, 'text/css': { schema: { type: 'string' } } },
          },
        },
      },
    },
    async (request, reply) => {
      const { file } = request.params
      const path = files[file]
      if (!path) throw notFound()
      return reply.type(`${types[extname(file)]}; charset=utf-8`).send(await readFile(path(), 'utf8'))
    },
  )
}

export default reference
