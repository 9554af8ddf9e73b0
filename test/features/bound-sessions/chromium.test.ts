// lane: all
import { createHash, X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { connect } from 'node:tls'
import { type BrowserContext, chromium } from 'playwright-core'
import t, { type Test } from 'tap'
import { isAvailable } from '../../support/available.ts'
import { minute } from '../../support/clock.ts'
import { TIMEOUT } from '../../support/launch-chromium.ts'
import { temporaryDirectory } from '../../support/process.ts'
import { type Sites, signInAt, startSites } from '../../support/sites.ts'
import { until } from '../../support/until.ts'

// The headless shell and incognito profiles bind no sessions.
const program = '/usr/bin/chromium'
/** The hash of the public key of the sites, which makes the browser trust their certificate. */
function keyHash({ at }: Sites): Promise<string> {
  const { port } = new URL(at.svc)
  return new Promise((resolve) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false }, () => {
      const { publicKey } = new X509Certificate(socket.getPeerCertificate().raw)
      socket.destroy()
      resolve(
        createHash('sha256')
          .update(publicKey.export({ type: 'spki', format: 'der' }))
          .digest('base64'),
      )
    })
  })
}

/** A browser that keeps the keys of bound sessions in software. */
async function openBrowser(t: Test, sites: Sites): Promise<BrowserContext> {
  const browser = await chromium.launchPersistentContext(temporaryDirectory(t), {
    executablePath: program,
    timeout: TIMEOUT,
    ignoreDefaultArgs: ['--headless'],
    args: [
      ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic'],
      // Browsers ask the site for its permission on the default port.
      `--host-resolver-rules=MAP corp.example:443 127.0.0.1:${new URL(sites.at.svc).port}, MAP *.example 127.0.0.1`,
      '--enable-features=DeviceBoundSessions,EnableBoundSessionCredentialsSoftwareKeysForManualTesting',
      `--ignore-certificate-errors-spki-list=${await keyHash(sites)}`,
    ],
  })
  t.teardown(() => browser.close())
  return browser
}

const asked = ({ traffic }: Sites, path: string) =>
  traffic.filter((each) => each.path === path).map(({ status }) => status)

if (
  isAvailable(t, existsSync(program), 'CHROMIUM IS NOT ON THIS MACHINE: BOUND SESSIONS WERE NOT TESTED IN A BROWSER')
) {
  t.test('Chromium binds its session, renews the cookie, and its cookies are useless elsewhere', async (t) => {
    for (const domain of [null, '.corp.example']) {
      const sites = await startSites(t, () => ({ session: { bound: 'when_available', domain } }))
      const { svc, at } = sites
      // svc itself cannot reach the site.
      svc.app.boundSessions.isPermitted = () => true
      const user = await svc.createUser()
      const browser = await openBrowser(t, sites)
      const page = await browser.newPage()
      await signInAt(sites, page, user.email)
      await until(async () => asked(sites, '/session/binding').length > 0)
      t.strictSame(asked(sites, '/session/binding'), [200], `domain: ${domain}`)
      await until(async () => (await browser.cookies()).some(({ name }) => name.endsWith('svc_bound')))
      t.equal(await svc.database.prisma.sessionBinding.count(), 1)

      const stolen = await browser.cookies()
      svc.clock.advance(10 * minute)
      // The clock of the browser did not move, so it still sends the old cookie, and drops it when svc says so.
      await page.goto(`${at.svc}/account`)
      t.equal(new URL(page.url()).pathname, '/account', 'the user is still signed in')
      t.ok(asked(sites, '/account').includes(307))
      t.strictSame(asked(sites, '/session/binding/refresh').at(-1), 200)

      const before = asked(sites, '/session/binding/refresh').length
      await browser.clearCookies({ name: /svc_bound$/ })
      await page.goto(`${at.svc}/account/sessions`)
      t.match(await page.textContent('#devices'), 'Works on this device only')
      t.strictSame(
        asked(sites, '/session/binding/refresh').slice(before),
        [200],
        'with the challenge of the last response',
      )

      const thief = await openBrowser(t, sites)
      await thief.addCookies(stolen)
      const other = await thief.newPage()
      await other.goto(`${at.svc}/account`)
      t.equal(new URL(other.url()).pathname, '/oauth/login', 'a copy of the cookies does not work')
    }
  })
}
