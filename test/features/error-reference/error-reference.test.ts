// engine: none
import t from 'tap'
import { describeErrors, errorCatalogue } from '../../../src/platform/errors.ts'
import { buildTestApp } from '../../support/app.ts'
import { sources } from '../../support/sources.ts'

t.test('lists every error code at the address that problem details name', async (t) => {
  const { app } = await buildTestApp(t)
  const { json } = await app.inject({ url: '/api/user', headers: { accept: 'application/problem+json' } })
  const { pathname, hash } = new URL(json().type)
  const page = await app.inject(pathname)
  t.equal(page.statusCode, 200)
  t.match(page.headers, { 'content-type': /^text\/html/, 'content-security-policy': /default-src 'none'/ })
  t.ok(page.body.includes(`<section id="${hash.slice(1)}">`))
  const catalogues = [errorCatalogue, ...app.features.map(({ errors }) => errors ?? {})]
  for (const { code } of describeErrors(catalogues)) t.ok(page.body.includes(`<section id="${code}">`), code)
  t.notOk(page.headers['set-cookie'])
})

t.test('describes every error code that the code declares', async (t) => {
  const { app } = await buildTestApp(t)
  const catalogues = [errorCatalogue, ...app.features.map(({ errors }) => errors ?? {})]
  const described = new Set<string>(describeErrors(catalogues).map(({ code }) => code))
  const declared = sources.flatMap(({ text }) =>
    [...text.matchAll(/interface ErrorCodes \{([^}]+)\}/g)].flatMap(([, body = '']) => [
      ...body.matchAll(/(\w+): true/g),
    ]),
  )
  t.ok(declared.length > 10)
  for (const [, code = ''] of declared) t.ok(described.has(code), code)
})

t.test('does not show the query', async (t) => {
  const { app } = await buildTestApp(t)
  t.notOk((await app.inject('/errors?request=<script>')).body.includes('<script>'))
})
