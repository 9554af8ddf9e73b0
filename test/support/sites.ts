import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request as forward } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import type { BrowserContext, Frame, Page, Response } from 'playwright-core'
import type { Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from './app.ts'
import { openChromium } from './chromium.ts'
import { temporaryDirectory } from './process.ts'
import { exampleUrl, openApiPath, routedPaths } from './routes.ts'
import { stopTime } from './time.ts'

/** The hosts of the sites: svc, an application beside it, and a site of another organisation. */
const hosts = { svc: 'id.corp.example', sibling: 'app.corp.example', other: 'shop.example' } as const

/** svc behind TLS next to sites that attack it, all of whose pages are blank. */
export interface Sites {
  svc: TestApp
  /** The origins. */
  at: Record<keyof typeof hosts, string>
  /** A browser that resolves these hosts. */
  browser: BrowserContext
  /** Requests and responses of svc, oldest first. */
  traffic: { method: string; path: string; status: number; origin: string; cookie: string; set: string[] }[]
  /** Whether pages of svc arrive as 204. */
  silent: boolean
}

/** A key and a self-signed certificate. */
function certificate(t: Test): { key: Buffer; cert: Buffer } {
  const folder = temporaryDirectory(t)
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = Object.values(hosts).map((host) => `DNS:${host}`)
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=${names.join(',')}`]
  execFileSync('openssl', [...args, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { key: readFileSync(key), cert: readFileSync(cert) }
}

/** Starts svc and the other sites under https; closed with the test. */
export async function startSites(
  t: Test,
  settings: (at: Sites['at']) => Settings = () => ({}),
  browser?: BrowserContext,
): Promise<Sites> {
  let target = 0
  const front = createServer(certificate(t), (request, response) => {
    const isForSite = request.url === '/.well-known/device-bound-sessions'
    if (request.headers.host?.split(':')[0] !== hosts.svc && !isForSite) {
      response.setHeader('content-type', 'text/html')
      response.end('<!doctype html><title>Another site</title>')
      return
    }
    const { method = '', url: path = '', headers } = request
    const sent = forward({ port: target, host: '127.0.0.1', method, path, headers }, (answer) => {
      const { statusCode: status = 0, headers: own } = answer
      const { origin = '', cookie = '' } = headers
      sites.traffic.push({ method, path, status, origin, cookie, set: own['set-cookie'] ?? [] })
      if (sites.silent && status !== 303 && status !== 302) {
        response.writeHead(204, { 'set-cookie': own['set-cookie'] ?? [] }).end()
        answer.resume()
        return
      }
      response.writeHead(status, own)
      answer.pipe(response)
    })
    sent.once('error', () => response.destroy())
    request.pipe(sent)
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  const address = front.address()
  if (typeof address !== 'object' || address === null) throw new Error('The front server has no port.')
  const origin = (host: string) => `https://${host}:${address.port}`
  const at = { svc: origin(hosts.svc), sibling: origin(hosts.sibling), other: origin(hosts.other) }
  t.teardown(() => {
    front.closeAllConnections()
    front.close()
  })
  const all = { ...settings(at), app: { url: at.svc, environment: 'development' } }
  const svc = await buildTestApp(t, { settings: all, clock: stopTime(t) })
  target = Number(new URL(await svc.app.listen({ port: 0, host: '127.0.0.1' })).port)
  const sites: Sites = { svc, at, traffic: [], silent: false, browser: browser ?? (await openSitesBrowser(t)) }
  return sites
}

/** A browser that resolves the hosts of these sites to this machine. */
export const openSitesBrowser = (t: Test): Promise<BrowserContext> =>
  openChromium(t, { ignoreHTTPSErrors: true, switches: ['--host-resolver-rules=MAP *.example 127.0.0.1'] })

/** Signs in at svc's own page. */
export async function signInAt({ at }: Sites, page: Page, email: string): Promise<void> {
  await page.goto(`${at.svc}/oauth/login`)
  await page.fill('#email', email)
  await page.fill('#password', 'correct horse')
  await page.click('#login-submit')
  await page.waitForSelector('#user-email')
}

/** The signed-in user on svc's start page, or null. */
export async function signedInAt({ at }: Sites, page: Page): Promise<string | null> {
  await page.goto(`${at.svc}/`)
  const email = page.locator('#user-email')
  return (await email.count()) > 0 ? ((await email.textContent())?.trim().split(/\s|Verified/)[0] ?? null) : null
}

/** The script by which a page posts a form. */
const formScript = (action: string, fields: Record<string, string>, target: string): string => `{
  const form = Object.assign(document.createElement('form'), ${JSON.stringify({ method: 'post', action, target })})
  for (const [name, value] of Object.entries(${JSON.stringify(fields)}))
    form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }))
  document.body.append(form)
  form.submit()
}`

/** Posts a form from the current page to an address of any site, and follows it there. */
export async function postForm(page: Page, action: string, fields: Record<string, string> = {}): Promise<void> {
  await Promise.all([page.waitForEvent('framenavigated'), page.evaluate(formScript(action, fields, '_self'))])
  await page.waitForLoadState()
}

/**
 * The same without rendering svc's pages: they arrive as 204 with their cookies, so that the page stays open and the
 * next form is cheap.
 */
export async function postFormSilently(
  sites: Sites,
  from: Page | Frame,
  action: string,
  fields: Record<string, string>,
): Promise<void> {
  sites.silent = true
  const page = 'page' in from ? from.page() : from
  await Promise.all([
    page.waitForEvent('response', (answer: Response) => answer.status() === 204),
    from.evaluate(formScript(action, fields, '_self')),
  ])
  sites.silent = false
}

/** The cookies at svc that authenticate a visitor. */
export async function identity(browser: BrowserContext, { at }: Sites): Promise<Record<string, string>> {
  const cookies = await browser.cookies(`${at.svc}/`)
  const own = cookies.filter(({ name }) => /(^|-)(svc_session|svc_remember|XSRF-TOKEN)$/.test(name))
  return Object.fromEntries(own.map(({ name, value }) => [name, value]))
}

/** Every form that another site can post: each path as it is, and with the methods that a form can name. */
export async function unsafeForms({ svc }: Sites): Promise<{ path: string; fields: Record<string, string> }[]> {
  const spec = (await svc.app.inject('/openapi.json')).json()
  return routedPaths(svc.app)
    .filter(({ path }) => path !== '*')
    .flatMap(({ path }) => {
      const described = Object.keys(spec.paths[openApiPath(path)])
      const unsafe = ['post', 'put', 'patch', 'delete'].filter((method) => described.includes(method))
      return unsafe.map((method) => ({
        path: exampleUrl(path),
        fields: { ...(method === 'post' ? {} : { _method: method.toUpperCase() }), email: 'x@example.com' },
      }))
    })
}
