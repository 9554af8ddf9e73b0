import { Type } from 'typebox'

const nullableText = (description: string) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], description }))

export const ChallengeBody = Type.Object(
  {
    code: nullableText('Six digits of the authenticator app.'),
    recovery_code: nullableText('Instead of `code`; wins if both are there.'),
  },
  { title: 'TwoFactorChallengeRequest', additionalProperties: false },
)

export const EnableBody = Type.Object(
  { force: Type.Optional(Type.Unknown({ description: 'Whether to replace a second factor that is there.' })) },
  { title: 'EnableTwoFactorRequest', additionalProperties: false },
)

export const ConfirmBody = Type.Object(
  { code: nullableText('Six digits of the authenticator app.') },
  { title: 'ConfirmTwoFactorRequest', additionalProperties: false },
)

/** The QR code; without a second factor, an empty list. */
export const QrCodeAnswer = Type.Union([
  Type.Object({
    svg: Type.String({ description: 'An `<svg>` element.' }),
    url: Type.String({ description: '`otpauth://…`' }),
  }),
  Type.Array(Type.Never(), { maxItems: 0 }),
])

export const SecretAnswer = Type.Object(
  { secretKey: Type.String({ description: 'Base32.' }) },
  { title: 'TwoFactorSecret' },
)
