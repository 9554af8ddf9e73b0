import type { Feature } from '../contract/feature.ts'
import { sessionFeature } from '../features/active-sessions/feature.ts'
import { activityFeature } from '../features/activity/feature.ts'
import { emailChangeFeature } from '../features/email-change/feature.ts'
import { emailCodeFeature } from '../features/email-code/feature.ts'
import { invitationFeature } from '../features/invitations/feature.ts'
import { oauthFeature } from '../features/oauth/feature.ts'
import { passkeyFeature } from '../features/passkeys/feature.ts'
import { profileFeature } from '../features/profile/feature.ts'
import { sampleFeature } from '../features/samples/feature.ts'
import { socialFeature } from '../features/social/feature.ts'
import { tokenFeature } from '../features/tokens/feature.ts'
import { twoFactorFeature } from '../features/two-factor/feature.ts'

/** What features add to the rest of svc. The sign-in page shows them in this order. */
export const features: readonly Feature[] = [
  socialFeature,
  passkeyFeature,
  emailCodeFeature,
  invitationFeature,
  profileFeature,
  emailChangeFeature,
  twoFactorFeature,
  sessionFeature,
  oauthFeature,
  tokenFeature,
  activityFeature,
  sampleFeature,
]
