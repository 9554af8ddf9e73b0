import { isOrigin, type NamedFormat } from '../formats.ts'
import { commonDomain, isPublicSuffix, isWithin } from '../hosts.ts'
import { featureSection } from './feature-section.ts'
import { choice, flag, list, nullable, section, text } from './kinds.ts'

const originFormat: NamedFormat = {
  name: 'passkey-origin',
  expected: 'an origin such as https://app.example.com, or android:apk-key-hash:<hash>',
  matches: (text) => isOrigin(text) || /^android:apk-key-hash:[\w-]+$/.test(text),
}

const schema = section('Passkeys (WebAuthn).', {
  enabled: flag({ default: true, description: 'Whether users can use passkeys.' }),
  rp_id: nullable(
    text({
      format: 'domain',
      example: 'example.com',
      description:
        'The relying party id: the domain that passkeys are bound to. A change makes all registered passkeys unusable. By default the common domain of app.url and app.frontend_url, if it is not a public suffix.',
    }),
  ),
  origins: nullable(
    list(text({ format: originFormat, description: 'An origin.' }), {
      minItems: 1,
      example: ['https://app.example.com'],
      description:
        'Origins of the pages that may use passkeys, and of apps, such as android:apk-key-hash:<hash>. By default app.url and app.frontend_url.',
    }),
  ),
  user_verification: choice(['required', 'preferred', 'discouraged'], {
    default: 'required',
    description:
      'Whether the authenticator verifies the user by PIN or biometrics. With required, a passkey counts as two factors.',
  }),
  confirm_password: flag({
    default: true,
    description: 'Whether registering a passkey requires a recently confirmed password.',
  }),
})

/** Passkeys. */
export const passkeys = featureSection({
  schema,
  formats: [originFormat],
  resolve: (given, app) => ({
    ...given,
    rp_id: given.rp_id ?? commonDomain(new URL(app.url).hostname, new URL(app.frontend_url).hostname),
    origins: [...new Set(given.origins ?? [app.url, app.frontend_url])],
  }),
  check: ({ rp_id: domain }, app, report) => {
    const hosts = [app.url, app.frontend_url].map((url) => new URL(url).hostname)
    if (hosts.includes(domain)) return
    if (isPublicSuffix(domain) || !hosts.some((host) => isWithin(host, domain))) {
      report(
        ['rp_id'],
        `must be the host of app.url or app.frontend_url, or a parent domain that is not a public suffix (found "${domain}")`,
      )
    }
  },
})
