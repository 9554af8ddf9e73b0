import { createHash } from 'node:crypto'
import { mobileUri, type Social, Visitor } from './visitor.ts'

/** The PKCE verifier of the app. */
export const verifier = 'a-verifier-that-the-app-alone-knows-0123456789'
const challenge = createHash('sha256').update(verifier).digest('base64url')

/** The code that a mobile app gets from the provider, with the fields that it submits. */
export async function handIn(svc: Social, login: string, more: object = {}) {
  const url = new URL(`${svc.acme.issuer}/auth`)
  const query = { client_id: 'svc', redirect_uri: mobileUri, response_type: 'code', scope: 'openid email profile' }
  const own = { state: 's', nonce: 'the-nonce', code_challenge: challenge, code_challenge_method: 'S256' }
  url.search = new URLSearchParams({ ...query, ...own }).toString()
  const { searchParams } = await new Visitor(svc).allow(url, login)
  const fields = {
    code: searchParams.get('code'),
    redirect_uri: mobileUri,
    code_verifier: verifier,
    nonce: 'the-nonce',
  }
  return { ...fields, device_name: 'Phone', ...more }
}

/** Exchanges a code at svc, as the app does. */
export const exchange = (svc: Social, payload: object, provider = 'acme') =>
  svc.app.inject({ method: 'POST', url: `/auth/${provider}/token`, headers: { accept: 'application/json' }, payload })
