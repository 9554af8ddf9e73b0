import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { buildTestApp, type TestApp } from './app.ts'
import type { Browser } from './browser.ts'
import { clients, oauthSettings, passwordClient, secret, token } from './oauth.ts'

/** A client that may use the admin API. */
export const robot = {
  client_id: 'robot',
  type: 'confidential',
  secret,
  grants: ['client_credentials'],
  scopes: ['svc:admin', 'orders:read'],
}

/** The role `admin` may use the admin API, and so may the client `robot`. */
export const adminSettings = {
  app: { url: 'http://localhost:8000' },
  admin: { roles: ['admin'] },
  ...oauthSettings,
  clients: [...clients, passwordClient, robot],
}

type Headers = Readonly<Record<string, string>>

/** Calls the admin API with a bearer token. The path begins after `/admin/v1`. */
export type AdminCall = (
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
  headers?: Headers,
) => Promise<LightMyRequestResponse>

export const adminCall =
  ({ app }: Pick<TestApp, 'app'>, bearer: string | null): AdminCall =>
  (method, path, body, headers = {}) =>
    app.inject({
      method,
      url: `/admin/v1${path}`,
      headers: { accept: 'application/json', ...(bearer ? { authorization: `Bearer ${bearer}` } : {}), ...headers },
      ...(body === undefined ? {} : { payload: body }),
    })

/** A token of the client `robot`. */
export async function robotToken(svc: Pick<TestApp, 'app'>, scope = 'svc:admin'): Promise<string> {
  return (await token(svc, 'robot', { grant_type: 'client_credentials', scope })).json().access_token
}

/** An app with an administrator, who has a session, and the client `robot`. */
export async function openAdmin(t: Test, settings: object = {}) {
  const svc = await buildTestApp(t, { settings: { ...adminSettings, ...settings } })
  const admin = await svc.createUser({ email: 'boss@example.com', role: 'admin' })
  const call = adminCall(svc, await robotToken(svc))
  const signIn = async (email = admin.email): Promise<Browser> => {
    const browser = svc.browser()
    await browser.signIn(email)
    return browser
  }
  const events = (type: string) => svc.database.prisma.event.findMany({ where: { type }, orderBy: { id: 'asc' } })
  return { svc, admin, call, signIn, events }
}
