// engine: none
import t from 'tap'
import { rejectsForgeries } from '../../support/account-pages.ts'
import { buildTestApp, confirming } from '../../support/app.ts'
import { oauthSettings } from '../../support/oauth.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'

/** Every section is on, and creating tokens needs the password. */
const settings = {
  ...oauthSettings,
  social: { google: { client_id: 'svc', client_secret: 'secret' } },
  tokens: { confirm_password: true },
  rate_limits: { login: null, mail: null, register: null },
}

/** Pages and forms that need a recent confirmation. */
const confirmed = [
  'GET /account/data/delete',
  'GET /account/data/export',
  'GET /account/passkeys/new',
  'GET /account/passkeys/{id}',
  'GET /account/personal-tokens/new',
  'GET /account/profile/email',
  'GET /account/sessions/others',
  'GET /account/tokens/new',
  'GET /account/two-factor/disable',
  'GET /account/two-factor/recovery-codes',
  'GET /account/two-factor/setup',
  'POST /account/data/delete',
  'POST /account/passkeys/{id}',
  'POST /account/passkeys/{id}/remove',
  'POST /account/personal-tokens/new',
  'POST /account/profile/email',
  'POST /account/providers/{id}/link',
  'POST /account/providers/{id}/unlink',
  'POST /account/sessions/others',
  'POST /account/tokens/new',
  'POST /account/two-factor/confirm',
  'POST /account/two-factor/disable',
  'POST /account/two-factor/recovery-codes',
  'POST /account/two-factor/recovery-codes/download',
  'POST /account/two-factor/setup',
]

t.test('protects every account page: sign-in, recent confirmation, CSRF and caches', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...settings, ...confirming } })
  const { email } = await svc.createUser()
  const browser = new ScriptlessBrowser(svc)
  await browser.send('/oauth/login', credentials(email))
  const _token = /name="_token" value="([^"]*)"/.exec((await browser.open('/account')).body)?.[1] ?? ''
  const visitor = new ScriptlessBrowser(svc)
  await visitor.open('/oauth/login')

  const { paths } = (await browser.browser.get('/openapi.json')).json() as {
    paths: Record<string, Record<string, { tags?: string[] }>>
  }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    path.startsWith('/.well-known/')
      ? []
      : Object.entries(methods).flatMap(([method, { tags }]) =>
          tags?.includes('Account pages') ? [[method, path]] : [],
        ),
  )
  t.ok(routes.length > 40, String(routes.length))
  const asked: string[] = []
  for (const [method = '', path = ''] of routes) {
    const [label, url] = [`${method.toUpperCase()} ${path}`, path.replace(/\{\w+\}/g, '1')]
    const isForm = method === 'post'
    if (isForm) await rejectsForgeries(t, browser, url)
    const unknown = isForm ? await visitor.post(url, {}) : await visitor.open(url)
    t.match(redirectOf(unknown), [303, /\/oauth\/login\?return_to=/], label)
    const answer = isForm ? await browser.post(url, { _token }) : await browser.open(url)
    if (String(answer.headers.location).startsWith('/account/confirm?')) asked.push(label)
    for (const { headers } of [unknown, answer]) t.equal(headers['cache-control'], 'no-store', label)
  }
  t.strictSame(asked.sort(), confirmed)
})
