import { importPKCS8, SignJWT } from 'jose'
import type { ProviderConfig } from './provider.ts'

/** How long a secret of Apple's kind is good, in seconds: longer than it is kept. */
const validity = 86_400

/** The client secret that Apple asks for: a JWT that the private key signs (ES256). Throws for a key that is none. */
export async function appleSecret(config: ProviderConfig, now: number): Promise<string> {
  const { client_id, team_id = '', key_id = '', private_key = '' } = config
  const issuedAt = Math.floor(now / 1000)
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: key_id })
    .setIssuer(team_id)
    .setSubject(client_id)
    .setAudience('https://appleid.apple.com')
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + validity)
    .sign(await importPKCS8(private_key, 'ES256'))
}
