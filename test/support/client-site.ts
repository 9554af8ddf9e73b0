import { createServer, type IncomingMessage } from 'node:http'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import type { Settings } from './app.ts'
import { afterForm } from './browser-page.ts'
import { ada } from './listening.ts'
import { freePort, type Running } from './process.ts'

/** The client's secret. */
export const secret = 'a-secret-that-is-long-enough'

/** A client's own site, separate from svc's: it shows what it receives. */
export interface Client {
  url: string
  callback: string
}

/** Starts the client's site; closed with the test. */
export async function startClient(t: Test): Promise<Client> {
  const read = async (request: IncomingMessage) => {
    let body = ''
    for await (const chunk of request) body += chunk
    return body || (request.url?.split('?')[1] ?? '')
  }
  const server = createServer(async (request, response) => {
    response.setHeader('content-type', 'text/html')
    const fields = Object.fromEntries(new URLSearchParams(await read(request)))
    const text = JSON.stringify({ method: request.method, ...fields }).replaceAll('<', '\\u003c')
    response.end(`<!doctype html><title>Client</title><pre id="sent">${text}</pre>`)
  })
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${port}`
  return { url, callback: `${url}/cb` }
}

/** The registrations of the client and of a device. */
export const settingsFor = ({ url, callback }: Client): Settings => ({
  scopes: { 'orders:read': 'Read your orders' },
  rate_limits: { login: null, two_factor: null },
  clients: [
    {
      client_id: 'shop',
      name: 'Example Shop',
      type: 'confidential',
      secret,
      redirect_uris: [callback],
      post_logout_redirect_uris: [`${url}/bye`],
      grants: ['authorization_code', 'refresh_token'],
      scopes: ['orders:read'],
    },
    { client_id: 'tv', name: 'Example TV', type: 'public', grants: ['device_code'], scopes: ['orders:read'] },
  ],
})

/** The client's redirect URI. */
export const authorization = (svc: Running, { callback }: Client, more: Record<string, string> = {}): string => {
  const query = {
    client_id: 'shop',
    response_type: 'code',
    redirect_uri: callback,
    scope: 'openid',
    state: 's',
    ...more,
  }
  return `${svc.url}/oauth/authorize?${new URLSearchParams(query)}`
}

/** The parameters that the client's page received. */
export const sent = async (page: Page) => JSON.parse((await page.textContent('#sent')) ?? '')

/** Signs in at svc's own page. */
export async function signIn(page: Page, { email, password } = ada): Promise<void> {
  await page.fill('#email', email)
  await page.fill('#password', password)
  await page.click('#login-submit')
  await afterForm(page)
}

/** Browser errors, above all violations of the security policy. */
export function browserErrors(page: Page): string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    const isExpected = message.location().url.endsWith('/favicon.ico') || /status of 4\d\d/.test(message.text())
    if (['error', 'warning'].includes(message.type()) && !isExpected) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return complaints
}

/** Begins an authorization that requires a new sign-in. Their times are whole seconds, and the last must be earlier. */
export async function requestNewSignIn(page: Page, url: string): Promise<void> {
  await page.waitForTimeout(1_100)
  await page.goto(url)
}

/** Requests tokens. */
export const redeem = async (svc: Running, fields: Record<string, string>) => {
  const answer = await fetch(`${svc.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(fields) })
  return (await answer.json()) as Record<string, string>
}

/** The response to a device that begins to connect. */
export const startDevice = async (svc: Running) => {
  const body = new URLSearchParams({ client_id: 'tv', scope: 'openid' })
  return (await (await fetch(`${svc.url}/oauth/device/code`, { method: 'POST', body })).json()) as Record<
    string,
    string
  >
}
