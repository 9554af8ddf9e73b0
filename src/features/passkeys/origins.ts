import type { Config } from '../../config/schema.ts'

/** Android reports the certificate that signed the app as the origin: its SHA-256 hash in base64url. */
const androidOrigin = (fingerprint: string): string =>
  `android:apk-key-hash:${Buffer.from(fingerprint.replaceAll(':', ''), 'hex').toString('base64url')}`

/** The origins that may use passkeys: the configured ones and those of the apps. iOS reports the domain of the passkey. */
export const allowedOrigins = ({ passkeys, mobile_apps: { android, ios } }: Config): string[] => [
  ...passkeys.origins,
  ...android.flatMap(({ sha256_cert_fingerprints }) => sha256_cert_fingerprints.map(androidOrigin)),
  ...(ios.length > 0 ? [`https://${passkeys.rp_id}`] : []),
]
