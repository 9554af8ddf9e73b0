import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { Test } from 'tap'
import { buildTestApp, type Settings, type TestApp, testConfig } from '../../../support/app.ts'
import { clients, exchangeClient, passwordClient, secret } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

export const orders = 'https://orders.example.com'
export const stock = 'https://stock.example.com/v1'
export const bills = 'https://bills.example.com'
export const svcAudience = 'http://localhost:8000'

const scopes = {
  'view-tasks': 'See your tasks',
  'orders:read': 'See your orders',
  'orders:write': 'Change your orders',
}

export const apis = {
  orders: { audience: orders, scopes: ['orders:read', 'orders:write'], token_ttl: '10m' },
  stock: { audience: stock, scopes: ['stock:read', 'stock:write'], token_ttl: '2m', algorithm: 'EdDSA' },
  bills: { audience: bills, scopes: ['bills:read'] },
}

const listed = () => ['orders:read', 'orders:write', 'stock:read', 'view-tasks']

export const settings: Settings = {
  scopes,
  apis,
  clients: [
    ...clients.map((client) => ({ ...client, scopes: listed() })),
    { ...passwordClient, scopes: listed() },
    { ...exchangeClient, scopes: listed() },
    { client_id: 'narrow', type: 'confidential', secret, grants: ['client_credentials'], scopes: ['stock:read'] },
  ],
}

export const buildApis = (t: Test, more: Settings = {}): Promise<TestApp> =>
  buildTestApp(t, { settings: { ...settings, ...more }, clock: stopTime(t) })

/** Replaces the configuration, as a reload does. */
export const reload = (svc: TestApp, more: Settings): void =>
  svc.config.swap({ ...svc.config.current(), ...pick(testConfig({ ...settings, ...more }).current(), more) } as never)

const pick = (config: object, keys: object) =>
  Object.fromEntries(Object.entries(config).filter(([name]) => name in keys))

/** Lifetime in seconds, and what says which API an access token is for. */
export function facts(token: string) {
  const { aud, scope, exp = 0, iat = 0 } = decodeJwt(token)
  return { aud, scope, ttl: exp - iat, alg: decodeProtectedHeader(token).alg }
}

/** Claims about the user that the configuration can add. */
export const claimNames = ['role', 'name', 'preferred_username', 'updated_at', 'email', 'email_verified']

/** These claims of a token or an introspection response. */
export const seen = (jwt: string | object) => {
  const claims: Record<string, unknown> = typeof jwt === 'string' ? decodeJwt(jwt) : { ...jwt }
  return Object.fromEntries([...claimNames, 'roles'].flatMap((name) => (name in claims ? [[name, claims[name]]] : [])))
}
