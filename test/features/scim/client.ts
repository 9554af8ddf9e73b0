import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'
import { secret, token } from '../../support/oauth.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Provisioned extends TestApp {
  /** A request of the SCIM client; `path` follows `/scim/v2`. */
  scim(method: Method, path: string, body?: object, headers?: Record<string, string>): Promise<LightMyRequestResponse>
}

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'
const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

const entra = { client_id: 'entra', type: 'confidential', secret, grants: ['client_credentials'], scopes: ['svc:scim'] }

/** An app with a client that provisions users. */
export async function buildProvisioned(t: Test, settings: Settings = {}): Promise<Provisioned> {
  const svc = await buildTestApp(t, { settings: { clients: [entra], ...settings } })
  const { access_token } = (await token(svc, 'entra', { grant_type: 'client_credentials', scope: 'svc:scim' })).json()
  return Object.assign(svc, {
    scim: (method: Method, path: string, body?: object, headers: Record<string, string> = {}) =>
      svc.app.inject({
        method,
        url: `/scim/v2${path}`,
        headers: {
          authorization: `Bearer ${access_token}`,
          ...(body ? { 'content-type': 'application/scim+json' } : {}),
          ...headers,
        },
        ...(body ? { payload: JSON.stringify(body) } : {}),
      }),
  })
}

/** A user as a client sends it. */
export const newUser = (userName: string, more: object = {}) => ({
  schemas: [userSchema],
  userName,
  name: { givenName: 'Ada', familyName: 'Lovelace' },
  emails: [{ value: userName, type: 'work', primary: true }],
  active: true,
  ...more,
})

/** A patch with these operations. */
export const patch = (...Operations: object[]) => ({ schemas: [patchSchema], Operations })
