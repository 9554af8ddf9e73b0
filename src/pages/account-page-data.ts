import type { AccountPageName } from '../platform/config/sections/accounts.ts'
import type { FormField } from './form-fields.ts'
import type { PagePart } from './page-part.ts'
import type { TextName } from './texts.ts'

/** Messages by field, as in an `HttpError`; shown above the form. */
export type FormErrors = Readonly<Record<string, readonly string[]>>

/** What the overview of the account pages says about a section: a number of entries, or a text, perhaps of something to do. */
export type AccountState = number | { text: TextName; isOpen: boolean }

export type AccountStates = Readonly<Partial<Record<AccountPageName, AccountState>>>

interface ShownPasskey {
  name: string
  /** Page of the passkey. */
  href: string
  /** Dates are ISO 8601. */
  addedAt: string | null
  usedAt: string | null
  /** Whether it is synced between devices. */
  isSynced: boolean
}

/** Data of the pages below `/account`. Their templates also get the menu. */
export interface AccountPageData {
  /** Lists the sections. */
  account: {
    user: { name: string; email: string }
    /** The text of each state, and whether it asks for attention. */
    states: Readonly<Partial<Record<AccountPageName, { text: string; isOpen: boolean }>>>
  }
  /** Posts `password`, or without a password `code`; the second form requests the code. */
  'account-confirm': {
    action: string
    /** Path to continue to. */
    returnTo: string
    /** Whether the account has a password. Otherwise svc mails a code. */
    hasPassword: boolean
    /** Whether the code was mailed. */
    sent: boolean
    /** Target of the form that mails the code. */
    codeAction: string
    email: string
    errors: FormErrors
    /** Other ways to confirm. */
    parts: readonly PagePart[]
  }
  /** Posts `name`, and those of `fields`. */
  'account-profile': {
    action: string
    name: string
    /** The fields that the configuration adds, such as `username` where users can change it. */
    fields: readonly FormField[]
    /** The username where users chose it and cannot change it; otherwise null. */
    username: string | null
    email: string
    /** The new address until it is verified; otherwise null. */
    pendingEmail: string | null
    isVerified: boolean
    /** Page that changes the address. */
    emailHref: string
    /** Page that sends the verification mail again. */
    verifyHref: string
    groups: readonly { name: string; description: string | null }[]
    errors: FormErrors
  }
  /** Posts `email`. */
  'account-email': {
    action: string
    email: string
    errors: FormErrors
    backHref: string
  }
  /** Posts `current_password`, `password` and `revoke_tokens`. */
  'account-password': {
    action: string
    /** Whether the account has a password. Otherwise the page links to the mail that sets one. */
    hasPassword: boolean
    forgotHref: string
    minLength: number
    email: string
    revokeTokens: boolean
    errors: FormErrors
  }
  'account-two-factor': {
    /** `pending`: the user has not confirmed the authenticator app. */
    state: 'off' | 'pending' | 'on'
    /** The page that requires the second factor; null for none. */
    returnTo: string | null
    /** Number of unused recovery codes. */
    codesLeft: number
    setupHref: string
    /** Page that replaces the recovery codes. */
    codesHref: string
    disableHref: string
    /** The browsers that the user trusts. Each form posts to `action`. */
    browsers: readonly { action: string; userAgent: string | null; ipAddress: string | null; usedAt: string }[]
  }
  /** Before the setup, one form creates the secret. Then one form posts `code`, and one `restart`. */
  'account-two-factor-setup': {
    action: string
    confirmAction: string
    setup: {
      /** An `<svg>` element of svc, inserted as HTML. */
      qrCode: string
      secret: string
      /** `otpauth://…`, for an app on the same device. */
      url: string
    } | null
    /** Where to continue after the setup. */
    returnTo: string | null
    errors: FormErrors
    backHref: string
  }
  /** Posts only the token. */
  'account-two-factor-disable': {
    action: string
    backHref: string
  }
  /** Shows new recovery codes once; posts `codes` to download them. */
  'account-recovery-codes': {
    /** Address of the account, on paper only. */
    email: string
    codes: readonly string[]
    downloadAction: string
    nextHref: string
  }
  /** Asks whether to replace the recovery codes; posts only the token. */
  'account-recovery-codes-new': {
    action: string
    backHref: string
  }
  'account-passkeys': {
    passkeys: readonly ShownPasskey[]
    /** Page that adds a passkey. */
    addHref: string
  }
  /** A script registers the passkey with the name of the field. */
  'account-passkey-new': {
    /** Suggested name. */
    name: string
    /** Where to continue after the registration. */
    nextHref: string
    backHref: string
  }
  /** One form posts `name`, one only the token. */
  'account-passkey': {
    passkey: ShownPasskey
    /** The name in the field. */
    name: string
    renameAction: string
    removeAction: string
    errors: FormErrors
    backHref: string
  }
  'account-sessions': {
    /** Sessions, then remembered devices without one. */
    devices: readonly {
      /** Browser and system; null if unknown. */
      browser: string | null
      ipAddress: string | null
      /** ISO 8601. */
      usedAt: string
      /** `remembered`: no session, but the next visit signs in. */
      state: 'current' | 'signed_in' | 'remembered' | 'administrator'
      /** Whether copies of its cookies do not work on another device. */
      isBound: boolean
      /** Target of the form that signs it out. */
      endAction: string
    }[]
    /** Page that signs out all others; null without others. */
    othersHref: string | null
  }
  /** Posts only the token. */
  'account-sessions-others': {
    action: string
    backHref: string
  }
  'account-data': {
    /** Download of the data. */
    exportHref: string
    /** Page that deletes the account. */
    deleteHref: string
  }
  /** Asks whether to delete the account; posts `email`, which must match the account's. */
  'account-delete': {
    action: string
    email: string
    errors: FormErrors
    backHref: string
  }
}
