import { apiSchema } from '../../platform/http/description/described-schemas.ts'
import { nullableText, optionalFlag } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'

export const ChallengeBody = Type.Object(
  {
    code: nullableText('Six digits of the authenticator app.'),
    recovery_code: nullableText('A recovery code. It takes precedence over `code`.'),
    trust_browser: optionalFlag(
      'Whether later sign-ins in this browser need no second factor, for `login.trust_browser`. Only with `code`.',
    ),
  },
  { title: 'TwoFactorChallengeRequest', additionalProperties: false },
)

export const EnableBody = Type.Object(
  { force: optionalFlag('Whether to replace an existing second factor.') },
  { title: 'EnableTwoFactorRequest', additionalProperties: false },
)

export const ConfirmBody = Type.Object(
  { code: nullableText('Six digits of the authenticator app.') },
  { title: 'ConfirmTwoFactorRequest', additionalProperties: false },
)

const QrCode = Type.Object({
  svg: Type.String({ description: 'An `<svg>` element.' }),
  url: Type.String({ description: 'The same as text: `otpauth://…`.' }),
})

/** The QR code; without a second factor, an empty list. */
export const QrCodeAnswer = Type.Union([QrCode, Type.Array(Type.Never(), { maxItems: 0 })], {
  // Without a type, so that the empty list fits too. Generators make no class of a union with a list.
  [apiSchema]: {
    title: 'TwoFactorQrCode',
    description: 'The QR code for the authenticator app. An empty list without a second factor.',
    properties: QrCode.properties,
  },
})

export const SecretAnswer = Type.Object(
  { secretKey: Type.String({ description: 'Base32.' }) },
  { title: 'TwoFactorSecret', description: 'The secret to type into the authenticator app.' },
)
