import type { Feature } from '../contract/feature.ts'
import { accountFeature } from '../features/account/feature.ts'
import { activeSessionsFeature } from '../features/active-sessions/feature.ts'
import { activityFeature } from '../features/activity/feature.ts'
import { adminFeature } from '../features/admin/feature.ts'
import { apiDescriptionFeature } from '../features/api-description/feature.ts'
import { appLinksFeature } from '../features/app-links/feature.ts'
import { assetsFeature } from '../features/assets/feature.ts'
import { auditSealFeature } from '../features/audit-seal/feature.ts'
import { boundSessionFeature } from '../features/bound-sessions/feature.ts'
import { decisionHookFeature } from '../features/decision-hooks/feature.ts'
import { decisionLogFeature } from '../features/decision-log/feature.ts'
import { diagnoseFeature } from '../features/diagnose/feature.ts'
import { emailChangeFeature } from '../features/email-change/feature.ts'
import { emailCodeFeature } from '../features/email-code/feature.ts'
import { emailVerificationFeature } from '../features/email-verification/feature.ts'
import { errorReferenceFeature } from '../features/error-reference/feature.ts'
import { eventExportFeature } from '../features/event-export/feature.ts'
import { forwardAuthFeature } from '../features/forward-auth/feature.ts'
import { healthFeature } from '../features/health/feature.ts'
import { homeFeature } from '../features/home/feature.ts'
import { invitationFeature } from '../features/invitations/feature.ts'
import { languageFeature } from '../features/language/feature.ts'
import { oauthFeature } from '../features/oauth/feature.ts'
import { passkeyFeature } from '../features/passkeys/feature.ts'
import { passwordConfirmationFeature } from '../features/password-confirmation/feature.ts'
import { passwordResetFeature } from '../features/password-reset/feature.ts'
import { profileFeature } from '../features/profile/feature.ts'
import { referenceFeature } from '../features/reference/feature.ts'
import { registrationFeature } from '../features/registration/feature.ts'
import { sampleFeature } from '../features/samples/feature.ts'
import { scimFeature } from '../features/scim/feature.ts'
import { securityTxtFeature } from '../features/security-txt/feature.ts'
import { sessionFeature } from '../features/session/feature.ts'
import { sharedSignalsFeature } from '../features/shared-signals/feature.ts'
import { signInPageFeature } from '../features/sign-in-page/feature.ts'
import { socialFeature } from '../features/social/feature.ts'
import { termsFeature } from '../features/terms/feature.ts'
import { testPageFeature } from '../features/test-page/feature.ts'
import { tokenFeature } from '../features/tokens/feature.ts'
import { twoFactorFeature } from '../features/two-factor/feature.ts'
import { unlockFeature } from '../features/unlock/feature.ts'
import { webhookFeature } from '../features/webhooks/feature.ts'

/**
 * All features. Pages, data exports and the help of the commands show what they add in this order. Nothing else depends on
 * it.
 */
export const features: readonly Feature[] = [
  adminFeature,
  socialFeature,
  passkeyFeature,
  emailCodeFeature,
  healthFeature,
  errorReferenceFeature,
  diagnoseFeature,
  forwardAuthFeature,
  sessionFeature,
  registrationFeature,
  emailVerificationFeature,
  emailChangeFeature,
  passwordResetFeature,
  assetsFeature,
  appLinksFeature,
  securityTxtFeature,
  signInPageFeature,
  invitationFeature,
  accountFeature,
  activityFeature,
  passwordConfirmationFeature,
  unlockFeature,
  termsFeature,
  profileFeature,
  twoFactorFeature,
  activeSessionsFeature,
  boundSessionFeature,
  oauthFeature,
  tokenFeature,
  scimFeature,
  webhookFeature,
  sharedSignalsFeature,
  decisionHookFeature,
  decisionLogFeature,
  auditSealFeature,
  eventExportFeature,
  homeFeature,
  languageFeature,
  sampleFeature,
  testPageFeature,
  referenceFeature,
  apiDescriptionFeature,
]
