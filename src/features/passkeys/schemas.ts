import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import { Type } from 'typebox'
import { nameField } from '../../http/validation.ts'

const nullableDate = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })

const credential = (description: string) => Type.Unsafe<Record<string, unknown>>({ type: 'object', description })

const Assertion = credential(
  'What `startAuthentication()` of @simplewebauthn/browser returns, or `toJSON()` of the browser: base64url texts.',
)

const PasskeyName = Type.String({ ...nameField, description: 'Name chosen by the user.' })

export const LoginBody = Type.Object(
  {
    credential: Assertion,
    remember: Type.Optional(
      Type.Unknown({
        description: 'Keep the browser signed in: true, false, 1, 0, "1" or "0".',
      }),
    ),
  },
  { title: 'PasskeyLoginRequest', additionalProperties: false },
)

export const ConfirmBody = Type.Object(
  { credential: Assertion },
  { title: 'PasskeyConfirmationRequest', additionalProperties: false },
)

export const RegisterBody = Type.Object(
  {
    name: PasskeyName,
    credential: credential(
      'What `startRegistration()` of @simplewebauthn/browser returns, or `toJSON()` of the browser: base64url texts.',
    ),
  },
  { title: 'RegisterPasskeyRequest', additionalProperties: false },
)

export const RenameBody = Type.Object(
  { name: PasskeyName },
  { title: 'RenamePasskeyRequest', additionalProperties: false },
)

export const PasskeyParams = Type.Object({ id: Type.String({ pattern: '^[0-9]{1,19}$' }) })

const Descriptor = Type.Object({
  id: Type.String(),
  type: Type.String(),
  transports: Type.Optional(Type.Array(Type.String())),
})

export const RequestOptionsAnswer = Type.Object(
  {
    options: Type.Unsafe<PublicKeyCredentialRequestOptionsJSON>(
      Type.Object(
        {
          challenge: Type.String({ description: 'Valid once, for five minutes.' }),
          rpId: Type.String(),
          timeout: Type.Integer({ description: 'Milliseconds.' }),
          userVerification: Type.String(),
          allowCredentials: Type.Optional(Type.Array(Descriptor)),
        },
        { description: 'PublicKeyCredentialRequestOptionsJSON (WebAuthn section 5.5).' },
      ),
    ),
  },
  { title: 'PasskeyRequestOptions' },
)

export const CreationOptionsAnswer = Type.Object(
  {
    options: Type.Unsafe<PublicKeyCredentialCreationOptionsJSON>(
      Type.Object(
        {
          challenge: Type.String({ description: 'Valid once, for five minutes.' }),
          rp: Type.Object({ id: Type.String(), name: Type.String() }),
          user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
          pubKeyCredParams: Type.Array(Type.Object({ type: Type.String(), alg: Type.Integer() })),
          timeout: Type.Integer({ description: 'Milliseconds.' }),
          attestation: Type.String(),
          excludeCredentials: Type.Array(Descriptor),
          authenticatorSelection: Type.Object({
            residentKey: Type.String(),
            requireResidentKey: Type.Boolean(),
            userVerification: Type.String(),
          }),
          extensions: Type.Object({ credProps: Type.Boolean() }),
        },
        { description: 'PublicKeyCredentialCreationOptionsJSON (WebAuthn section 5.4).' },
      ),
    ),
  },
  { title: 'PasskeyCreationOptions' },
)

export const LoginAnswer = Type.Object(
  {
    redirect: Type.Optional(Type.String({ description: 'Where to redirect the browser.' })),
    two_factor: Type.Optional(
      Type.Boolean({
        description: 'Whether a second factor is still required, because the authenticator did not verify the user.',
      }),
    ),
  },
  { title: 'PasskeyLogin' },
)

export const ConfirmAnswer = Type.Object(
  { redirect: Type.String({ description: 'Where to redirect the browser.' }) },
  { title: 'PasskeyConfirmation' },
)

export const RegisterAnswer = Type.Object(
  { id: Type.String(), name: Type.String(), status: Type.String() },
  { title: 'RegisteredPasskey' },
)

export const PasskeyRecord = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    backed_up: Type.Boolean({ description: 'Whether the passkey is synced between devices.' }),
    last_used_at: nullableDate('Null for never.'),
    created_at: nullableDate('When the passkey was registered.'),
  },
  { title: 'Passkey', description: 'A passkey, without its public key.' },
)

export const RenameAnswer = Type.Object({ passkey: PasskeyRecord }, { title: 'RenamedPasskey' })

export const DeleteAnswer = Type.Object({ status: Type.String() }, { title: 'DeletedPasskey' })
