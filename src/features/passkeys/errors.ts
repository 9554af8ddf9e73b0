import { type ErrorDescription, HttpError } from '../../platform/errors.ts'

declare module '../../platform/errors.ts' {
  interface ErrorCodes {
    unknown_passkey: true
  }
}

/** Error codes of passkeys. */
export const passkeyErrors = {
  unknown_passkey: {
    status: 422,
    meaning: 'svc has no such passkey. Its user may have removed it.',
    remedy: 'Tell the browser with `PublicKeyCredential.signalUnknownCredential()`, as `svc.passkeys.login()` does.',
  },
} satisfies Record<string, ErrorDescription>

/** The message does not say whether another account has the passkey. */
export const unknownPasskey = 'Passkey not recognized. It may have been removed from your account.'

/** 422 for a credential that no account has. Only this one may be removed from its authenticator. */
export const passkeyUnknown = (): HttpError =>
  new HttpError(422, 'unknown_passkey', unknownPasskey, { errors: { credential: [unknownPasskey] } })
