import { randomUUID } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import type { CustomFetchOptions } from 'openid-client'
import type { Test } from 'tap'
import { buildTestApp, type Settings, type TestApp, type TestAppOptions } from '../../../support/app.ts'
import { stopTime } from '../../../support/time.ts'

export const issuer = 'http://localhost:8000'
export const secret = 'a-secret-that-is-long-enough'
export const scopes = { 'orders:read': 'Read your orders' }

/** A machine client, with overrides. */
export const machine = (client_id: string, rest: Settings = { secret }): Settings => ({
  client_id,
  type: 'confidential',
  grants: ['client_credentials'],
  scopes: ['orders:read'],
  ...rest,
})

/** svc with these clients and a stopped clock. */
export const buildServer = (t: Test, clients: Settings[], options: TestAppOptions = {}): Promise<TestApp> =>
  buildTestApp(t, {
    clock: stopTime(t),
    ...options,
    // Serialized without aliases, which the configuration rejects; the same object twice would become one.
    settings: JSON.parse(JSON.stringify({ scopes, clients, ...options.settings })),
  })

/** Posts a form, as programs do. */
export const post = (
  svc: TestApp,
  url: string,
  fields: Record<string, string> | [string, string][],
  headers: Record<string, string> = {},
  remoteAddress = '198.51.100.7',
): Promise<LightMyRequestResponse> =>
  svc.app.inject({
    method: 'POST',
    url,
    remoteAddress,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(fields).toString(),
  })

export const basic = (id: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(password)}`).toString('base64')}`,
})

export const credentials = { grant_type: 'client_credentials' }

/** A key pair for the signatures of its owner. */
export interface Key {
  privateKey: CryptoKey
  jwk: JWK & { kid: string; alg: string }
  thumbprint: string
}

export async function newKey(alg: string, kid = alg): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid, alg }
  return { privateKey, jwk, thumbprint: await calculateJwkThumbprint(jwk) }
}

export const seconds = (): number => Math.floor(Date.now() / 1000)

/** The form fields of a client assertion (RFC 7523 section 2.2), with overrides. */
export async function assertion(
  key: Key,
  clientId: string,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<Record<string, string>> {
  const all = { iss: clientId, sub: clientId, aud: issuer, jti: randomUUID(), iat: seconds(), exp: seconds() + 60 }
  const jwt = new SignJWT({ ...all, ...claims }).setProtectedHeader({
    alg: key.jwk.alg,
    kid: key.jwk.kid,
    ...header,
  })
  return {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await jwt.sign(key.privateKey),
  }
}

/** A DPoP proof (RFC 9449 section 4.2), with overrides. */
export const proof = (
  key: Key,
  htm: string,
  htu: string,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> => {
  const { kid: _kid, alg: _alg, ...jwk } = key.jwk
  return new SignJWT({ htm, htu: issuer + htu, jti: randomUUID(), iat: seconds(), ...claims })
    .setProtectedHeader({ alg: key.jwk.alg, typ: 'dpop+jwt', jwk, ...header })
    .sign(key.privateKey)
}

/** Replaces the network that clients call svc through. */
export const injectFetch =
  (svc: TestApp) =>
  async (input: string, init: CustomFetchOptions): Promise<Response> => {
    const { body, method, headers: sent } = init
    const request = new Request(input, { method, headers: sent, ...(body ? { body } : {}) })
    const { pathname, search } = new URL(request.url)
    const answer = await svc.app.inject({
      method: request.method as 'GET',
      url: pathname + search,
      headers: Object.fromEntries(request.headers),
      payload: Buffer.from(await request.arrayBuffer()),
    })
    const headers = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)])
    return new Response(answer.rawPayload.length > 0 ? answer.rawPayload : null, { status: answer.statusCode, headers })
  }
