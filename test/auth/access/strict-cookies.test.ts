// engine: none
import { once } from 'node:events'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'

const fromElsewhere = { accept: 'text/html', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }

const open = (svc: TestApp, url: string, headers: Record<string, string> = fromElsewhere) =>
  svc.app.inject({ method: 'GET', url, headers })

t.test('reloads a page that another site linked to, with strict cookies', async (t) => {
  const svc = await buildTestApp(t, { settings: { session: { same_site: 'strict' } } })
  for (const path of [
    '/',
    '/oauth/login?return_to=%2Fx',
    '/oauth/authorize?client_id=x',
    '/email/verify/1/x?a=b',
    '/verify-email/1/x',
  ]) {
    const answer = await open(svc, path)
    t.equal(answer.statusCode, 200, path)
    t.match(answer.body, `<meta http-equiv="refresh" content="0; url=${path}">`)
    t.same(answer.headers['set-cookie'] ?? [], [], 'the cookies stay in the browser')
    t.match(answer.headers, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    const again = await open(svc, path, { ...fromElsewhere, 'sec-fetch-site': 'same-origin' })
    t.notMatch(again.body, 'http-equiv')
  }
  await svc.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = svc.app.server.address() as AddressInfo
  const path = `/?x=a"'><script>alert(1)</script>&amp;`
  const [hostile] = await once(get({ host: '127.0.0.1', port, path, headers: fromElsewhere }), 'response')
  const body = await text(hostile)
  t.notMatch(body, /<script|a"|&amp;/)
  t.match(body, `url=/?x=a&#34;'&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#38;amp;"`)
  const program = await open(svc, '/user/social-accounts', { ...fromElsewhere, accept: 'application/json' })
  t.equal(program.statusCode, 401)
  for (const path of ['/api/user', '/user/sessions'])
    t.equal((await open(svc, path)).statusCode, 401, 'routes other than pages do not reload')
  t.equal((await open(svc, '/openapi.json')).statusCode, 200)
})

t.test('answers directly with lax cookies', async (t) => {
  const svc = await buildTestApp(t)
  const answer = await open(svc, '/oauth/login')
  t.match(answer.body, 'id="login-submit"')
  t.match(answer.headers['set-cookie'], [/^svc_session=/])
})
