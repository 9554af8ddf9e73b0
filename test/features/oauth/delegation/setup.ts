import type { Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../../../support/app.ts'
import { stopTime } from '../../../support/time.ts'

const secret = 'a-secret-that-is-long-enough'
export const orders = 'https://orders.example.com'
export const stock = 'https://stock.example.com'
export const accessToken = 'urn:ietf:params:oauth:token-type:access_token'

const client = (client_id: string, more: Settings): Settings => ({ client_id, type: 'confidential', secret, ...more })

const scopes = () => ['orders:read', 'orders:write', 'stock:read', 'notes:read']

const agent = (client_id: string, exchange: string[], may_act_for: Settings | undefined, more: Settings = {}) =>
  client(client_id, {
    name: `Agent ${client_id}`,
    grants: ['token_exchange', 'client_credentials', 'password'],
    exchange,
    scopes: scopes(),
    ...(may_act_for ? { may_act_for } : {}),
    ...more,
  })

export const settings = (): Settings => ({
  scopes: { 'orders:read': 'See your orders', 'notes:read': 'Read your notes' },
  apis: {
    orders: { audience: orders, scopes: ['orders:read', 'orders:write'] },
    stock: { audience: stock, scopes: ['stock:read'] },
  },
  clients: [
    client('shop', { name: 'The Shop', grants: ['password', 'refresh_token'], scopes: scopes() }),
    client('watcher', { grants: ['client_credentials'], introspect: true }),
    agent('assistant', ['shop'], { scopes: ['orders:read', 'notes:read'], max_ttl: '5m' }),
    agent('narrow', ['shop'], { scopes: ['orders:read', 'stock:read'], max_ttl: '1m', apis: ['orders'] }),
    agent('second', ['assistant'], { scopes: ['orders:read', 'notes:read'], max_ttl: '5m' }),
    agent('third', ['second'], { scopes: ['orders:read', 'notes:read'], max_ttl: '5m' }),
    agent('fourth', ['third'], { scopes: ['orders:read', 'notes:read'], max_ttl: '5m' }),
    agent('plain', ['shop', 'assistant'], undefined),
  ],
})

export const buildAgents = (t: Test, more: Settings = {}): Promise<TestApp> =>
  buildTestApp(t, { settings: { ...settings(), ...more }, clock: stopTime(t) })

type Fields = Record<string, string>

export const post = ({ app }: Pick<TestApp, 'app'>, client_id: string, fields: Fields, url = '/oauth/token') =>
  app.inject({ method: 'POST', url, payload: { client_id, client_secret: secret, ...fields } })

/** Exchanges a token, as an agent does. */
export const act = (svc: Pick<TestApp, 'app'>, agent: string, subject_token: string, more: Fields = {}) =>
  post(svc, agent, {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token,
    subject_token_type: accessToken,
    ...more,
  })

/** A user's token of the shop, for the default audience or for an API. */
export async function shopToken(svc: TestApp, more: Fields = {}) {
  const user = await svc.createUser()
  const fields = { grant_type: 'password', username: user.email, password: 'correct horse', ...more }
  const answer = await post(svc, 'shop', fields)
  return { user, token: answer.json().access_token as string, refresh: answer.json().refresh_token as string }
}

export const introspect = async (svc: Pick<TestApp, 'app'>, token: string) =>
  (await post(svc, 'watcher', { token }, '/oauth/introspect')).json()

export const notes = { scope: 'notes:read' }
