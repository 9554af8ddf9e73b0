import type { AccessPageData } from './access-page-data.ts'
import type { AccountPageData, FormErrors } from './account-page-data.ts'
import type { AdminPageData } from './admin-page-data.ts'
import type { FormField } from './form-fields.ts'
import type { IconName } from './icons.ts'
import type { PagePart } from './page-part.ts'
import type { TextName } from './texts.ts'

interface Link {
  href: string
  label: string
}

/** The menu of the account pages, or of the admin pages. */
export interface PageMenu {
  /** Its name, for screen readers. */
  label: string
  /** Title and address of the overview. */
  home: { label: string; href: string }
  /** The name of a section is also that of its icon. */
  sections: readonly { name: IconName; label: string; hint: string; href: string; isCurrent: boolean }[]
  /** Result of the previous form. */
  notice: string | null
  /** Names of the scripts that run after a change. */
  scripts: readonly string[]
  signOutAction: string
}

/** Data of each page; the key is the name of its template in `src/pages/templates`. */
export interface PageData extends AccountPageData, AccessPageData, AdminPageData {
  /** Posts `email`, `password`, `remember` and, unless it is null, `return_to`. */
  login: {
    action: string
    /** Path of svc to continue to. */
    returnTo: string | null
    /** The email address, or the username, that was entered before. */
    email: string
    /** What users can sign in with. */
    identifiers: readonly ('email' | 'username')[]
    remember: boolean
    errors: FormErrors
    /** Why the user should sign in, unless it is to use the application. */
    reason?: TextName | null
    /** A notice, such as that the password was reset. */
    notice: TextName | null
    /** Why another sign-in method failed. */
    alert?: TextName | null
    /** Page for a forgotten password; null if there is none. */
    forgotHref: string | null
    /** Page to create an account; null if users cannot register. */
    registerHref: string | null
    /** Other ways to sign in. */
    parts: readonly PagePart[]
  }
  /** Posts `name`, `email`, `password`, `remember`, those of `fields` and, unless it is null, `return_to`. */
  register: {
    action: string
    /** Path of svc to continue to. */
    returnTo: string | null
    name: string
    /** The fields that the configuration adds, such as `username`. */
    fields: readonly FormField[]
    email: string
    remember: boolean
    errors: FormErrors
    /** Minimum length of the password, shown beside the field. */
    minLength: number
    /** The terms to accept by the field `terms`, which has the version; null without terms. */
    terms: { version: string; url: string } | null
    loginHref: string
    /** Other ways to register. */
    parts: readonly PagePart[]
  }
  /** Two forms: one posts `code`, the other `recovery_code`; both post `return_to` unless it is null. */
  challenge: {
    action: string
    /** Until when the user can trust the browser, with the field `trust_browser`: Unix milliseconds; null if not at all. */
    trustUntil: number | null
    returnTo: string | null
    errors: FormErrors
    /** Page to start over. */
    loginHref: string
    parts: readonly PagePart[]
  }
  /** Posts `name` and `password`: accepts an invitation. */
  invitation: {
    action: string
    token: string
    /** The invited address. */
    email: string
    name: string
    /** Address of the user whose session the new account replaces; null without a session. */
    signedInAs: string | null
    errors: FormErrors
    /** Text about a failed way to accept it; null to show none. */
    alert: TextName | null
    /** Minimum length of the password, shown beside the field. */
    minLength: number
    /** Other ways to accept it. */
    parts: readonly PagePart[]
  }
  /** Posts `email`, `remember` and, unless it is null, `return_to`: requests a sign-in code. */
  'email-code-request': {
    action: string
    returnTo: string | null
    email: string
    remember: boolean
    errors: FormErrors
    loginHref: string
  }
  /** Posts `decision`, `link` or `skip`, and `return_to`: links the account at a provider to the user's. */
  'link-provider': {
    title: string
    action: string
    returnTo: string | null
    provider: { label: string }
    /** Identifies what the page shows. */
    offer: string
    /** Address or name at the provider. */
    identity: string | null
    user: { name: string; email: string }
  }
  /** Posts `code`. A second form posts the fields of `email-code-request` for another code. */
  'email-code': {
    action: string
    /** The address that was entered. It may have no account. */
    email: string
    /** Code of the mailed link. */
    code: string
    errors: FormErrors
    again: { action: string; returnTo: string | null; remember: boolean }
    /** Page to enter another address. */
    requestHref: string
  }
  /** Asks a signed-in user for a second factor. Posts `code` or `recovery_code`, unless a part proves the factor itself. */
  'step-up': {
    action: string
    lead: TextName
    /** Whether the user has an authenticator app. */
    code: boolean
    /** Other second factors. */
    parts: readonly PagePart[]
    errors: FormErrors
    /** Link to sign in with another account. */
    switchHref: string
  }
  /** Posts `email`. */
  'forgot-password': {
    action: string
    email: string
    errors: FormErrors
    /** Shows what to do next in place of the form, after the mail was requested. */
    isSent: boolean
    loginHref: string
  }
  /** Posts `token`, `email`, `password` and `password_confirmation`. */
  'reset-password': {
    action: string
    token: string
    email: string
    errors: FormErrors
    /** Minimum length of a new password, shown beside the field. */
    minLength: number
  }
  /** Posts only the token; unlocks the sign-in of an account. */
  unlock: {
    action: string
  }
  home: {
    user: { name: string; email: string; verified: boolean } | null
    /** Whether the visitor followed the link of a verification mail. */
    justVerified: boolean
    /** Instead of the usual one. */
    title?: string
    /** Whether a sign-out led here. */
    justSignedOut: boolean
    loginHref: string
    /** Target of the sign-out form. */
    signOutAction: string
    /** Page that sends the verification mail again. */
    verifyHref: string
    /** The account pages; null if the configuration turns them off. */
    accountHref: string | null
    /** Offers of features. */
    parts: readonly PagePart[]
  }
  /** Posts `decision`, `approve` or `deny`: the client's access to the account. */
  consent: {
    action: string
    client: string
    /** Whether nobody registered the client. Its name is then its host, and `claim` is what it calls itself. */
    isUnregistered?: boolean
    claim?: string | null
    /** Host that the browser continues to; null for an app on the same device. */
    host: string | null
    /** Whether the request comes from a device that shows a code. */
    isForDevice?: boolean
    user: { name: string; email: string }
    scopes: readonly { name: string; description: string }[]
    /** Link to sign in with another account. */
    switchHref: string
  }
  /** Posts `decision`: `continue` with the account that is signed in. */
  'select-account': {
    action: string
    client: string
    user: { name: string; email: string }
    /** Link to sign in with another account. */
    switchHref: string
  }
  /** Posts `xsrf` and `user_code`: the code that a device shows. */
  device: {
    action: string
    secret: string
    userCode: string
    /** Result of the previous code. */
    error: 'aborted' | 'expired' | 'limited' | 'unknown' | null
  }
  /** Posts `xsrf`, `user_code`, and `confirm` or `abort`. Shows the client and the origin of the request. */
  'device-confirm': {
    action: string
    secret: string
    userCode: string
    client: string
    ipAddress: string | null
    userAgent: string | null
  }
  'device-done': {
    client: string
  }
  /** Posts `xsrf` and, unless the user stays signed in, `logout`. */
  logout: {
    action: string
    secret: string
    /** The client that requests the sign-out. */
    client: string | null
    user: string | null
  }
  'logged-out': {
    href: string
  }
  /** Posts only the button, which sends the verification mail again. */
  'verify-email': {
    action: string
    /** The unverified address. */
    email: string
    /** Whether the mail was sent again. */
    sent: boolean
    homeHref: string
  }
  /** Posts only the button. */
  'undo-email': {
    action: string
    /** The old address, which will be restored. */
    email: string
    /** The masked new address. */
    current: string
  }
  message: {
    title: string
    message: string
    link: Link | null
  }
  error: {
    /** Short and full description of the error. */
    heading: string
    texts: readonly string[]
    /** Page that resolves the error. */
    link?: Link | null | undefined
    /** Technical description, for developers. */
    details?: string
    /** Id of the request in the log, for support. */
    requestId?: string
    homeHref: string
  }
  /** The error codes. In a meaning or remedy, every second part is code. */
  errors: {
    title: string
    errors: readonly {
      code: string
      title: string
      status: string
      meaning: readonly string[]
      remedy: readonly string[]
    }[]
  }
  /** How svc sees the request. */
  diagnose: {
    title: string
    /** Address of the diagnosis, for other pages. */
    url: string
    findings: readonly { check: string; ok: boolean; message: string; key: string | null }[]
  }
  'test-login': {
    errors: FormErrors
  }
  'test-tokens': {
    flash: { message: string; token: string | null } | null
    tokens: readonly { id: number; name: string }[]
  }
}

/** Name of a page. */
export type PageName = keyof PageData
