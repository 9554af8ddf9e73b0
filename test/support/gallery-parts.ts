import { passkeyFeature } from '../../src/features/passkeys/feature.ts'
import { socialFeature } from '../../src/features/social/feature.ts'
import { markOf } from '../../src/features/social/marks.ts'
import { oauth2Presets, openIdPresets } from '../../src/features/social/presets.ts'
import type { SocialLink } from '../../src/features/social/sign-in-page.ts'
import type { PagePart } from '../../src/pages/page-data.ts'
import { testConfig } from './app.ts'

const google = { client_id: 'svc', client_secret: 'secret' }
const config = testConfig({ social: { google } }).current()
const page = { returnTo: null, isAnew: false }

/** The part of the sign-in page for passkeys. */
export const passkeyPart: PagePart = passkeyFeature.signInPage.part(config)

export const passkeyStepUp = passkeyFeature.stepUp

/** The part of the sign-in page for providers, with these buttons. */
export const providersPart = (social: readonly SocialLink[]): PagePart => ({
  ...socialFeature.signInPage.part(config, page),
  data: { social },
})

/** A button of each known provider, and one without a logo. */
export const presetButtons: readonly SocialLink[] = [
  ...[...Object.keys(openIdPresets), ...Object.keys(oauth2Presets)].map((id) => ({
    href: `/auth/${id}/redirect`,
    label: `Continue with ${id}`,
    mark: markOf(id),
    letter: '',
  })),
  { href: '/auth/acme/redirect', label: 'Continue with Acme', mark: null, letter: 'A' },
]
