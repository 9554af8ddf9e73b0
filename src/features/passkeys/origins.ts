import { isOrigin } from '../../platform/config/formats.ts'
import type { Config } from '../../platform/config/schema.ts'
import type { Advice } from '../../platform/http/advice.ts'

/** Android reports the certificate that signed the app as the origin: its SHA-256 hash in base64url. */
const androidOrigin = (fingerprint: string): string =>
  `android:apk-key-hash:${Buffer.from(fingerprint.replaceAll(':', ''), 'hex').toString('base64url')}`

/** The origins that may use passkeys: the configured ones and those of the apps. iOS reports the domain of the passkey. */
export const allowedOrigins = ({ passkeys, mobile_apps: { android, ios } }: Config): string[] => [
  ...passkeys.origins,
  ...android.flatMap(({ sha256_cert_fingerprints }) => sha256_cert_fingerprints.map(androidOrigin)),
  ...(ios.length > 0 ? [`https://${passkeys.rp_id}`] : []),
]

/** A response from a page or an app whose origin is not allowed. */
export class OriginRefused extends Error {
  readonly advice: Advice

  constructor(origin: string) {
    super('the origin is not allowed')
    this.advice = adviceOf(origin)
  }
}

const maxShown = 200

function adviceOf(origin: string): Advice {
  if (origin.startsWith('android:')) {
    const message = 'The response comes from an Android app with a certificate that mobile_apps.android does not list.'
    return { message, key: 'mobile_apps.android' }
  }
  // The sender chooses the text, so svc logs it only if it is an origin.
  const page = isOrigin(origin) && origin.length <= maxShown ? `a page at ${origin}` : 'an invalid origin'
  return { message: `The response comes from ${page}, which passkeys.origins does not list.`, key: 'passkeys.origins' }
}
