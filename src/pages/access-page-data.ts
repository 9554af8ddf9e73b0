import type { FormErrors } from './account-page-data.ts'

/** Data of the pages about access to the account. A null `nextHref` ends a list. */
export interface AccessPageData {
  /** Posts `version` and, unless it is null, `return_to`. */
  terms: {
    action: string
    returnTo: string | null
    version: string
    /** The page with the terms. */
    url: string
    errors: FormErrors
    accountHref: string | null
  }
  /** Each form posts only the button. */
  'account-applications': {
    applications: readonly {
      /** Target of the form that disconnects it. */
      action: string
      name: string
      /** The name that an unregistered client gives itself. */
      claim: string | null
      /** What it may do, in words. */
      scopes: readonly string[]
      createdAt: string
      expiresAt: string | null
    }[]
    /** Clients that act for the user by token exchange. */
    agents: readonly {
      /** Target of the form that ends it, or allows it again. */
      action: string
      name: string
      scopes: readonly string[]
      usedAt: string
      endedAt: string | null
    }[]
    nextHref: string | null
  }
  /** API tokens or personal access tokens. Each form posts only the button. */
  'account-token-list': {
    title: string
    lead: string
    /** Text of an empty list. */
    none: string
    tokens: readonly {
      /** Target of the form that revokes it. */
      action: string
      name: string
      /** What it may do. */
      abilities: readonly string[]
      createdAt: string | null
      /** Null if it was never used; missing if svc does not record it. */
      lastUsedAt?: string | null
      expiresAt: string | null
      isExpired: boolean
    }[]
    /** Page that creates one. */
    newHref: string
    nextHref: string | null
  }
  /** Posts `name`, `abilities[]` and `lifetime`. */
  'account-token-new': {
    title: string
    action: string
    name: string
    choices: readonly { value: string; label: string; hint: string | null; isChosen: boolean }[]
    /** Days to choose from. Empty if the configuration decides. */
    lifetimes: readonly number[]
    /** The chosen number of days; empty for the maximum. */
    lifetime: string
    /** When a token with the maximum lifetime expires; null for never. */
    latestAt: string | null
    errors: FormErrors
    backHref: string
  }
  /** Shows a new token once. */
  'account-token': {
    name: string
    token: string
    backHref: string
  }
  /** Security events of the account, newest first. */
  'account-activity': {
    events: readonly {
      label: string
      /** Whether someone was refused. */
      isFailure: boolean
      /** Name of what it is about, such as a token. */
      subject: string | null
      at: string
      times: number
      /** Browser and system; null if unknown. */
      browser: string | null
      ipAddress: string | null
    }[]
    nextHref: string | null
  }
  /** Linked accounts at other providers. Each form posts only the button. */
  'account-providers': {
    links: readonly {
      /** Target of the form that unlinks it. */
      action: string
      label: string
      /** Address or name of the account at the provider. */
      account: string | null
      createdAt: string | null
      lastUsedAt: string | null
    }[]
    /** Providers to link. `mark` is the logo, `letter` replaces a missing logo, and `brand` is the class with the colours. */
    providers: readonly { action: string; label: string; mark: object | null; letter: string; brand: string | null }[]
    /** Page that confirms the password before changes; null after a recent confirmation. */
    confirmHref: string | null
    errors: FormErrors
  }
}
