import type { Test } from 'tap'
import type { Settings, TestApp } from '../../../support/app.ts'
import { buildServer, credentials, post, secret } from '../clients/parties.ts'

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export const job = (federated: Settings[], more: Settings = {}): Settings => ({
  client_id: 'job',
  type: 'confidential',
  grants: ['client_credentials', 'token_exchange'],
  scopes: ['orders:read'],
  allow_private_addresses: true,
  federated,
  ...more,
})

export const start = (t: Test, federated: Settings[], more: Settings = {}): Promise<TestApp> =>
  buildServer(t, [job(federated, more), { ...job([]), client_id: 'other-job', secret }], {
    settings: { rate_limits: { token: null } },
  })

/** The fields by which a workload authenticates. */
export const by = (token: string, client_id = 'job') => ({
  client_id,
  client_assertion_type: assertionType,
  client_assertion: token,
})

export const ask = async (svc: TestApp, token: string, more: Record<string, string> = {}) =>
  post(svc, '/oauth/token', { ...credentials, ...by(token), ...more })

export const outcome = async (svc: TestApp, token: string) => {
  const { statusCode } = await ask(svc, token)
  const line = svc.logs.findLast((text) => text.includes('Token of a workload refused')) ?? '{}'
  return statusCode === 200 ? 200 : JSON.parse(line).reason
}
