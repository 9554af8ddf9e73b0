import { importPKCS8, SignJWT } from 'jose'
import type { ProviderConfig } from './provider.ts'

/** Lifetime of Apple's client secret in seconds, longer than it is cached. */
const lifetime = 86_400

/** Creates Apple's client secret: a JWT signed by the private key (ES256). Throws for an invalid key. */
export async function appleSecret(config: ProviderConfig, now: number): Promise<string> {
  const { client_id, team_id = '', key_id = '', private_key = '' } = config
  const issuedAt = Math.floor(now / 1000)
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: key_id })
    .setIssuer(team_id)
    .setSubject(client_id)
    .setAudience('https://appleid.apple.com')
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetime)
    .sign(await importPKCS8(private_key, 'ES256'))
}
