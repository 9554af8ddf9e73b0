// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { hasChromium, openChromium } from '../../support/chromium.ts'
import { browserErrors } from '../../support/client-site.ts'

const production = { app: { environment: 'production', url: 'https://id.example' }, mail: { url: 'smtp://localhost' } }

t.test('serves the reference in development, under a strict policy', async (t) => {
  const svc = await buildTestApp(t)
  const page = await svc.app.inject('/docs')
  t.match(page, { statusCode: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  const policy = String(page.headers['content-security-policy'])
  t.match(policy, /default-src 'none'/)
  t.notMatch(policy, /unsafe/)
  t.match(policy, /img-src data:/)
  t.notMatch(
    (await svc.app.inject('/test-login')).headers['content-security-policy'],
    /data:/,
    'other pages stay strict',
  )
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'reference.js']) {
    const type = file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'
    t.match(await svc.app.inject(`/docs/${file}`), { statusCode: 200, headers: { 'content-type': type } }, file)
  }
})

t.test('rejects other files', async (t) => {
  const svc = await buildTestApp(t)
  for (const file of [
    'package.json',
    '..%2fpackage.json',
    'constructor',
    '__proto__',
    'swagger-ui.css%00',
    'x'.repeat(200),
  ]) {
    const answer = await svc.app.inject(`/docs/${file}`)
    t.match({ status: answer.statusCode, ...answer.json() }, { status: 404, code: 'not_found' }, file)
  }
})

t.test('answers 404 in production', async (t) => {
  const svc = await buildTestApp(t, { settings: production })
  for (const path of ['/docs', '/docs/reference.js', '/docs/swagger-ui-bundle.js']) {
    const answer = await svc.app.inject(path)
    t.match({ status: answer.statusCode, ...answer.json() }, { status: 404, code: 'not_found' }, path)
  }
  const { paths } = (await svc.app.inject('/openapi.json')).json()
  t.notOk(paths['/docs'])
})

if (hasChromium(t)) {
  t.test('lists every operation in a browser, without errors, and sends requests', async (t) => {
    const svc = await buildTestApp(t)
    const url = await svc.app.listen({ port: 0, host: '127.0.0.1' })
    const page = await (await openChromium(t)).newPage()
    const errors = browserErrors(page)
    const foreign: string[] = []
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(url)) foreign.push(request.url())
    })
    await page.goto(`${url}/docs`)
    await page.waitForSelector('.opblock')
    const { paths } = (await svc.app.inject('/openapi.json')).json<{ paths: Record<string, object> }>()
    const operations = Object.values(paths).flatMap((methods) => Object.keys(methods))
    // Swagger UI renders only the operations near the visible part of a long list.
    const shown = new Set<string>()
    for (let isMore = true; isMore; ) {
      const ids = await page.evaluate<string[]>('[...document.querySelectorAll(".opblock")].map(({ id }) => id)')
      for (const id of ids) shown.add(id)
      isMore = await page.evaluate<boolean>('{ const before = scrollY; scrollBy(0, 300); scrollY > before }')
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    }
    t.equal(shown.size, operations.length)

    await page.goto(`${url}/docs#/Health/getLiveness`)
    await page.reload()
    await page.click('#operations-Health-getLiveness .try-out__btn')
    await page.click('#operations-Health-getLiveness .execute')
    await page.waitForSelector('#operations-Health-getLiveness .live-responses-table .response-col_status')
    const answer = await page.textContent('#operations-Health-getLiveness .live-responses-table .highlight-code')
    t.match(answer, /"status": "ok"/)
    t.same(errors, [])
    t.same(foreign, [], 'requests nothing from other servers')
  })
}
