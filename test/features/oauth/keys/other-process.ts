import { SignJWT } from 'jose'
import { KeyRing } from '../../../../src/features/oauth/keys/key-ring.ts'
import type { TestApp } from '../../../support/app.ts'

/** Another process with svc's own keys: each of its tokens differs from a valid one in exactly one way. */
export async function otherProcess(t: { teardown(work: () => unknown): unknown }, svc: TestApp) {
  const ring = await KeyRing.open({ ...svc, log: svc.app.log, subscriber: svc.app.subscriber })
  t.teardown(() => ring.close())
  const sign = (claims: object, header: object = {}, algorithm: 'ES256' | 'RS256' | 'EdDSA' = 'ES256') => {
    const jwk = ring.current().signing[algorithm]
    return new SignJWT({ ...claims })
      .setProtectedHeader({ alg: algorithm, typ: 'at+jwt', kid: jwk.kid, ...header })
      .sign(jwk)
  }
  return { ring, sign }
}
