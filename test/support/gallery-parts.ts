import { emailCodeFeature } from '../../src/features/email-code/feature.ts'
import { passkeyFeature } from '../../src/features/passkeys/feature.ts'
import { brandingOf, type SocialLink } from '../../src/features/social/buttons.ts'
import { socialFeature } from '../../src/features/social/feature.ts'
import { oauth2Presets, openIdPresets } from '../../src/features/social/providers/presets.ts'
import type { Application } from '../../src/pages/continuation.ts'
import type { PagePart } from '../../src/pages/page-part.ts'
import { testConfig } from './app.ts'

/** Markup that pages must escape. */
export const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'\`{{7*7}}<%= 7*7 %></style>`
/** A long word without a place to break. */
export const long = 'x'.repeat(120)

const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 48"><rect width="96" height="48" rx="8"/></svg>'

/** An application with a logo and links. */
export const orders: Application = {
  name: 'Example Orders',
  logo: `data:image/svg+xml;base64,${Buffer.from(picture).toString('base64')}`,
  termsHref: 'https://orders.example.com/terms',
  privacyHref: 'https://orders.example.com/privacy',
}
export const hostileApplication: Application = {
  name: hostile + long,
  logo: `https://a.example/${hostile}`,
  termsHref: `https://a.example/${hostile}`,
  privacyHref: `https://a.example/${hostile}`,
}

/** The user of most pages. */
export const ada = { name: 'Ada Lovelace', email: 'ada@example.com', verified: true }

const google = { client_id: 'svc', client_secret: 'secret' }
const config = testConfig({ social: { google }, login: { email_code: true } }).current()
const page = { returnTo: null, isReauthentication: false }

/** The part of the sign-in page for passkeys. */
export const passkeyPart: PagePart = passkeyFeature.signInPage.part(config)

/** The part of the sign-in page for sign-in by mailed code. */
export const emailCodePart: PagePart = emailCodeFeature.signInPage.part(config)

/** The parts of the page of an invitation. */
export const invitationParts: readonly PagePart[] = [
  socialFeature.invitationPage.part(config, { action: '/oauth/invitation/token' }),
  passkeyFeature.invitationPage.part(config),
]

export const passkeyStepUp = passkeyFeature.stepUp

/** The part of the challenge page of a user with a passkey. */
export const passkeyChallenge: PagePart = {
  ...passkeyStepUp.part,
  data: { code: true, passkeyCeremony: 'challenge' },
}

/** The part of the sign-in page for providers, with these buttons. */
export const providersPart = (social: readonly SocialLink[]): PagePart => ({
  ...socialFeature.signInPage.part(config, page),
  data: { social },
})

/** A button of each known provider, and one without a logo. */
export const presetButtons: readonly SocialLink[] = [
  ...[...Object.keys(openIdPresets), ...Object.keys(oauth2Presets)].map((id) => ({
    href: `/auth/${id}/redirect`,
    ...brandingOf({ id, label: id }),
  })),
  { href: '/auth/acme/redirect', ...brandingOf({ id: 'acme', label: 'Acme' }) },
]
