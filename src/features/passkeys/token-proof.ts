import { type TokenProof, tokenProof } from '../../auth/tokens/first-factor.ts'
import { verifyPasskey } from './assertion.ts'
import { credentialRefused } from './credential.ts'
import { passkeyMethod } from './method.ts'
import { tokenAsking } from './options.ts'
import { tokenFields } from './schemas.ts'

/** The proof of an app whose user signed in by passkey. */
export const passkeyProof: TokenProof = tokenProof({
  name: 'credential',
  fields: tokenFields,
  required: ['challenge_token'],
  verify: async (visit, { credential, challenge_token }) => {
    if (!visit.app.config.current().passkeys.enabled) throw credentialRefused('Passkeys are disabled.')
    const asking = tokenAsking(challenge_token ?? '')
    const { user, password, userVerified } = await verifyPasskey(visit, credential ?? {}, asking)
    return { user, password, method: passkeyMethod(userVerified), channel: 'passkey' }
  },
})
