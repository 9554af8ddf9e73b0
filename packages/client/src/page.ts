/**
 * What the client uses of a page. The types of the DOM would not compile in the projects of servers and of React
 * Native.
 */
export interface PageGlobals {
  document?: { cookie: string }
  location?: { href: string }
  navigator?: { credentials?: CredentialsContainer }
  PublicKeyCredential?: {
    isConditionalMediationAvailable?(): Promise<boolean>
    /** Older browsers do not have the methods for JSON. */
    parseCreationOptionsFromJSON?(options: object): object
    parseRequestOptionsFromJSON?(options: object): object
    /** Newer browsers have these (WebAuthn section 5.1.10). */
    signalUnknownCredential?(credential: object): Promise<void>
    signalAllAcceptedCredentials?(accepted: object): Promise<void>
    signalCurrentUserDetails?(details: object): Promise<void>
  }
}

interface CredentialsContainer {
  create(options: object): Promise<PasskeyCredential | null>
  get(options: object): Promise<PasskeyCredential | null>
}

/** `PublicKeyCredential` (WebAuthn section 5.1). */
export interface PasskeyCredential {
  id: string
  rawId: ArrayBuffer
  type: string
  authenticatorAttachment?: string | null
  response: {
    clientDataJSON: ArrayBuffer
    attestationObject?: ArrayBuffer
    authenticatorData?: ArrayBuffer
    signature?: ArrayBuffer
    userHandle?: ArrayBuffer | null
    getTransports?(): string[]
  }
  getClientExtensionResults(): object
  toJSON?(): Record<string, unknown>
}

/** The globals of this page; without a page they are undefined. */
export const page = globalThis as unknown as PageGlobals

/** The decoded values of the cookies of one name that this page can read. Another application may set the name too. */
export function pageCookies(name: string): string[] {
  const prefix = `${name}=`
  const pairs = page.document?.cookie.split('; ').filter((pair) => pair.startsWith(prefix)) ?? []
  return pairs.map((pair) => decodeURIComponent(pair.slice(prefix.length)))
}
