import type { TextName } from './texts.ts'

/** The texts of each field that was refused, as an `HttpError` carries them; shown above the form. */
type FormErrors = Readonly<Record<string, readonly string[]>>

interface Link {
  href: string
  label: string
}

/** A way to sign in at another identity provider. */
export interface SocialLink extends Link {
  /** A drawing in one colour, as an SVG element takes it. */
  mark: { viewBox: string; path: string } | null
  /** The first letter of the label, shown where there is no mark. */
  letter: string
}

/** What each page is made from; the name is that of its template in `src/templates/pages`. */
export interface PageData {
  /** Posts `email`, `password`, `remember` and, unless it is null, `return_to`. */
  login: {
    action: string
    /** A path of svc to go on to; also where the passkey's script goes. */
    returnTo: string | null
    /** What was typed before. */
    email: string
    remember: boolean
    errors: FormErrors
    /** Something good to know, such as that the password was reset. */
    notice: TextName | null
    /** Why another way to sign in did not work. */
    alert?: TextName | null
    /** The page for a forgotten password; null where there is none. */
    forgotHref: string | null
    /** Whether the page offers passkeys, to browsers that have them. */
    passkeys: boolean
    social: readonly SocialLink[]
  }
  /** Two forms: one posts `code`, the other `recovery_code`; both post `return_to` unless it is null. */
  challenge: {
    action: string
    returnTo: string | null
    errors: FormErrors
    /** The page on which to begin anew. */
    loginHref: string
  }
  /** Asks a signed-in user for a second factor: posts `code` or `recovery_code`, or confirms by passkey. */
  'step-up': {
    /** Also where the passkey's script goes. */
    action: string
    /** Whether the user has an authenticator app. */
    code: boolean
    /** Whether the user has a passkey. */
    passkey: boolean
    errors: FormErrors
    /** Where to sign in as somebody else. */
    switchHref: string
  }
  /** Posts `email`. */
  'forgot-password': {
    action: string
    email: string
    errors: FormErrors
    /** What is said in place of the form once the mail is on its way. */
    sent: string | null
    loginHref: string
  }
  /** Posts `token`, `email`, `password` and `password_confirmation`. */
  'reset-password': {
    action: string
    token: string
    email: string
    errors: FormErrors
    /** The fewest characters of a new password, told beside the field. */
    minLength: number
  }
  /** Posts nothing but the token: unlocks the sign-in of an account. */
  unlock: {
    action: string
  }
  home: {
    user: { name: string; email: string; verified: boolean } | null
    /** Whether the visitor comes from the link in a verification mail. */
    justVerified: boolean
    loginHref: string
    /** Where the sign-out form is posted to. */
    signOutAction: string
  }
  /** Posts `decision`, `approve` or `deny`: what a client may do for the user. */
  consent: {
    action: string
    client: string
    /** The host that the browser goes on to; null for an app on the same device. */
    host: string | null
    /** Whether it is for a device that shows a code, and not for this browser. */
    isForDevice?: boolean
    user: { name: string; email: string }
    scopes: readonly { name: string; description: string }[]
    /** Where to sign in as somebody else. */
    switchHref: string
  }
  /** Posts `xsrf` and `user_code`: the code that a device shows. */
  device: {
    action: string
    secret: string
    userCode: string
    /** What became of the code that was entered before. */
    error: 'aborted' | 'expired' | 'limited' | 'unknown' | null
  }
  /** Posts `xsrf`, `user_code` and `confirm`, or `abort`: which client asks, and from where. */
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
    /** The client that asks for it. */
    client: string | null
    user: string | null
  }
  'logged-out': {
    href: string
  }
  /** Posts nothing but the button. */
  'undo-email': {
    action: string
    /** The old address, which is restored. */
    email: string
  }
  message: {
    title: string
    message: string
    link: Link | null
  }
  error: {
    /** What went wrong, in a few words and in a sentence. */
    heading: string
    texts: readonly string[]
    homeHref: string
  }
  'test-login': {
    errors: FormErrors
  }
  'test-tokens': {
    flash: { message: string; token: string | null } | null
    tokens: readonly { id: number; name: string }[]
  }
}

/** A page that svc has. */
export type PageName = keyof PageData
