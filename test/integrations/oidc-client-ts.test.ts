// engine: none
// lane: all
import { createServer } from 'node:http'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { complaintsOf, submitSignIn } from '../support/browser-page.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { ada, startWithAda } from '../support/listening.ts'
import { freePort } from '../support/process.ts'

/** The settings of docs/integrations/oidc-client-ts.md. */
const program = `
  import { UserManager, WebStorageStateStore } from 'oidc-client-ts'
  const manager = new UserManager({
    authority: window.authority,
    client_id: 'shop',
    redirect_uri: location.origin + '/callback',
    post_logout_redirect_uri: location.origin + '/',
    scope: 'openid profile email groups offline_access',
    userStore: new WebStorageStateStore({ store: window.sessionStorage }),
  })
  window.manager = manager
  if (location.pathname === '/callback') await manager.signinCallback().then(() => history.replaceState({}, '', '/'))
  const user = await manager.getUser()
  document.title = user ? 'Signed in' : 'Signed out'
  document.body.textContent = JSON.stringify(user ? { profile: user.profile, expires: user.expires_in } : null)
`

/** A site that has only static files. */
async function startSite(t: Test, authority: () => string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname },
    ...{ bundle: true, format: 'esm', write: false, logLevel: 'silent' },
  })
  const script = outputFiles[0]?.text ?? ''
  const server = createServer((request, response) => {
    if (request.url === '/app.js') return response.setHeader('content-type', 'text/javascript').end(script)
    const start = `<script>window.authority = ${JSON.stringify(authority())}</script>`
    return response
      .setHeader('content-type', 'text/html')
      .end(
        `<!doctype html><link rel="icon" href="data:,">${start}<body></body><script type="module" src="/app.js"></script>`,
      )
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${port}`
}

t.test('oidc-client-ts signs in, renews and signs out in a browser', { skip: !hasChromium(t) }, async (t) => {
  let issuer = ''
  const site = await startSite(t, () => issuer)
  const client = {
    ...{ client_id: 'shop', name: 'Shop', type: 'public', first_party: true },
    redirect_uris: [`${site}/callback`],
    post_logout_redirect_uris: [`${site}/`],
    ...{ grants: ['authorization_code', 'refresh_token'], scopes: ['groups'] },
  }
  const svc = await startWithAda(t, {}, { clients: [client] })
  issuer = svc.url
  const context = await openChromium(t)
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto(site)
  await page.waitForFunction('document.title === "Signed out"')
  await page.evaluate('void manager.signinRedirect()')
  await page.waitForSelector('#login-form')
  await submitSignIn(page)
  await page.waitForFunction('document.title === "Signed in"')
  t.match(JSON.parse((await page.textContent('body')) ?? ''), {
    profile: { sub: '1', name: 'Ada', email: ada.email, email_verified: true, preferred_username: 'ada-1', groups: [] },
  })
  const renewed = await page.evaluate('manager.signinSilent().then(({ access_token }) => access_token)')
  t.match(renewed, /^ey/, 'with the refresh token')
  await page.evaluate('void manager.signoutRedirect()')
  await page.click('#logout-yes')
  await page.waitForFunction('document.title === "Signed out"')
  t.same(complaints, [])
})
