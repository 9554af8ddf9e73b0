import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import { challengeTokenField } from '../../auth/tokens/first-factor.ts'
import { apiSchema } from '../../platform/http/description/described-schemas.ts'
import { idParameter, nullableText, rememberFlag } from '../../platform/http/fields.ts'
import { nameField } from '../../platform/http/validation.ts'
import { type TSchema, Type } from '../../platform/json-schema.ts'

const nullableDate = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })

const base64url = (description: string) => Type.String({ description: `${description} (base64url).` })

/** A credential as JSON. The verification checks its members. */
const credential = (title: string, description: string, response: Record<string, TSchema>) =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    [apiSchema]: Type.Object(
      {
        id: base64url('The id of the credential'),
        rawId: base64url('The same id'),
        type: Type.String({ description: '`public-key`.' }),
        response: Type.Object(response, { title: `${title}Response`, description: 'The answer of the authenticator.' }),
      },
      { title, description },
    ),
  })

const clientDataJSON = base64url('What the browser signed')

const Assertion = credential(
  'PasskeyAssertion',
  'The result of `startAuthentication()` of @simplewebauthn/browser, or of `toJSON()` of the credential.',
  {
    clientDataJSON,
    authenticatorData: base64url('The state of the authenticator'),
    signature: base64url('The signature'),
    userHandle: Type.Optional(base64url('The id of the user')),
  },
)

const Attestation = credential(
  'PasskeyAttestation',
  'The result of `startRegistration()` of @simplewebauthn/browser, or of `toJSON()` of the credential.',
  { clientDataJSON, attestationObject: base64url('The public key') },
)

const PasskeyName = Type.String({ ...nameField, description: 'Name chosen by the user.' })

export const LoginBody = Type.Object(
  {
    credential: Assertion,
    // The handler checks it by the stricter rule of Laravel.
    remember: rememberFlag,
  },
  { title: 'PasskeyLoginRequest', additionalProperties: false },
)

/** The proof of an app at `POST /svc/token`. */
export const tokenFields = {
  credential: Type.Optional(Type.Unsafe<Record<string, unknown> | null>({ ...Assertion, type: ['object', 'null'] })),
  challenge_token: challengeTokenField,
}

export const ConfirmBody = Type.Object(
  { credential: Assertion },
  { title: 'PasskeyConfirmationRequest', additionalProperties: false },
)

export const RegisterBody = Type.Object(
  {
    name: PasskeyName,
    credential: Attestation,
  },
  { title: 'RegisterPasskeyRequest', additionalProperties: false },
)

export const ConditionalBody = Type.Object(
  { credential: Attestation },
  { title: 'RegisterPasskeyConditionallyRequest', additionalProperties: false },
)

export const RenameBody = Type.Object(
  { name: PasskeyName },
  { title: 'RenamePasskeyRequest', additionalProperties: false },
)

const InvitationToken = Type.String({ minLength: 1, maxLength: 255, description: 'The token of the invitation.' })
const InvitedName = Type.String({ ...nameField, description: 'The full name.' })

export const InvitationOptionsBody = Type.Object(
  { token: InvitationToken, name: InvitedName },
  { title: 'InvitationPasskeyOptionsRequest', additionalProperties: false },
)

export const InvitationBody = Type.Object(
  { token: InvitationToken, name: InvitedName, credential: Attestation },
  { title: 'InvitationPasskeyRequest', additionalProperties: false },
)

export const InvitationAnswer = Type.Object(
  { redirect: Type.String({ description: 'Where the browser continues.' }) },
  { title: 'InvitationAccepted' },
)

export const PasskeyParams = Type.Object({ id: idParameter('The id of the passkey.') })

const text = (description: string) => Type.String({ description })
const challenge = text('Valid once, for six minutes: the timeout and one more.')
const timeout = Type.Integer({ description: 'Milliseconds.' })
const userVerification = text('`required`, `preferred` or `discouraged`.')

const Descriptor = Type.Object(
  {
    id: base64url('The id of the credential'),
    type: text('`public-key`.'),
    transports: Type.Optional(Type.Array(Type.String(), { description: 'How to reach the authenticator.' })),
  },
  { title: 'PasskeyDescriptor', description: 'A known credential.' },
)

export const RequestOptionsAnswer = Type.Object(
  {
    options: Type.Unsafe<PublicKeyCredentialRequestOptionsJSON>(
      Type.Object(
        {
          challenge,
          rpId: text('The domain of the passkeys.'),
          timeout,
          userVerification,
          allowCredentials: Type.Optional(Type.Array(Descriptor, { description: 'The passkeys of the user.' })),
        },
        {
          title: 'PublicKeyCredentialRequestOptions',
          description: 'PublicKeyCredentialRequestOptionsJSON (WebAuthn section 5.5).',
        },
      ),
    ),
  },
  { title: 'PasskeyRequestOptions', description: 'The argument of `startAuthentication()`.' },
)

export const AppOptionsAnswer = Type.Object(
  {
    ...RequestOptionsAnswer.properties,
    challenge_token: text('Sent back with the response of the authenticator. Works once, for six minutes.'),
  },
  { title: 'PasskeyAppOptions', description: 'The start of a passkey sign-in in an app.' },
)

export const CreationOptionsAnswer = Type.Object(
  {
    options: Type.Unsafe<PublicKeyCredentialCreationOptionsJSON>(
      Type.Object(
        {
          challenge,
          rp: Type.Object(
            { id: text('The domain of the passkeys.'), name: text('The name of the service.') },
            { title: 'PasskeyRelyingParty', description: 'The service.' },
          ),
          user: Type.Object(
            {
              id: base64url('The user handle'),
              name: text('The email address.'),
              displayName: text('The full name.'),
            },
            { title: 'PasskeyUser', description: 'The user, as the authenticator shows it.' },
          ),
          pubKeyCredParams: Type.Array(
            Type.Object(
              { type: text('`public-key`.'), alg: Type.Integer({ description: 'The COSE algorithm.' }) },
              { title: 'PasskeyAlgorithm', description: 'A signature algorithm.' },
            ),
            { description: 'The algorithms, in order of preference.' },
          ),
          timeout,
          attestation: text('`none`: svc asks for no attestation.'),
          excludeCredentials: Type.Array(Descriptor, { description: 'The passkeys that the user has.' }),
          authenticatorSelection: Type.Object(
            {
              residentKey: text('`required`: the passkey identifies its user.'),
              requireResidentKey: Type.Boolean({ description: 'The same, for older browsers.' }),
              userVerification,
            },
            { title: 'PasskeyAuthenticatorSelection', description: 'The required authenticator.' },
          ),
          extensions: Type.Object(
            { credProps: Type.Boolean({ description: 'Asks whether the passkey identifies its user.' }) },
            { title: 'PasskeyExtensions', description: 'The extensions.' },
          ),
        },
        {
          title: 'PublicKeyCredentialCreationOptions',
          description: 'PublicKeyCredentialCreationOptionsJSON (WebAuthn section 5.4).',
        },
      ),
    ),
  },
  { title: 'PasskeyCreationOptions', description: 'The argument of `startRegistration()`.' },
)

export const AppRegistrationBody = Type.Object(
  { password: nullableText('The password of the user, with `passkeys.confirm_password`.') },
  { title: 'PasskeyAppRegistrationRequest', additionalProperties: false },
)

export const AppCreationOptionsAnswer = Type.Object(
  { ...CreationOptionsAnswer.properties, challenge_token: AppOptionsAnswer.properties.challenge_token },
  { title: 'PasskeyAppCreationOptions', description: 'The start of a passkey registration in an app.' },
)

export const AppRegisterBody = Type.Object(
  {
    ...RegisterBody.properties,
    challenge_token: Type.String({ minLength: 1, maxLength: 255, description: 'From the response with the options.' }),
  },
  { title: 'RegisterPasskeyInAppRequest', additionalProperties: false },
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
  { title: 'PasskeyLogin', description: 'How the browser continues.' },
)

export const ConfirmAnswer = Type.Object(
  { redirect: Type.String({ description: 'Where to redirect the browser.' }) },
  { title: 'PasskeyConfirmation', description: 'How the browser continues.' },
)

export const RegisterAnswer = Type.Object(
  {
    id: text('The id of the passkey.'),
    name: text('The name of the passkey.'),
    status: text('`passkey-registered`.'),
  },
  { title: 'RegisteredPasskey', description: 'The new passkey.' },
)

export const PasskeyRecord = Type.Object(
  {
    id: text('The id of the passkey.'),
    name: text('The name that the user chose.'),
    backed_up: Type.Boolean({ description: 'Whether the passkey is synced between devices.' }),
    last_used_at: nullableDate('Null for never.'),
    created_at: nullableDate('When the passkey was registered.'),
  },
  { title: 'Passkey', description: 'A passkey, without its public key.' },
)

const orNull = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const PasskeyHolder = {
  rpId: text('The domain of the passkeys.'),
  userId: base64url('The user handle'),
}

export const PasskeySignals = Type.Object(
  {
    all_accepted_credentials: orNull(
      Type.Object(
        {
          ...PasskeyHolder,
          allAcceptedCredentialIds: Type.Array(base64url('The id of a credential'), {
            description: 'The passkeys of the user. Password managers hide all others.',
          }),
        },
        { title: 'AllAcceptedCredentials' },
      ),
      'The argument of `signalAllAcceptedCredentials()`.',
    ),
    current_user_details: orNull(
      Type.Object(
        { ...PasskeyHolder, name: text('The email address.'), displayName: text('The full name.') },
        { title: 'CurrentUserDetails' },
      ),
      'The argument of `signalCurrentUserDetails()`.',
    ),
  },
  { title: 'PasskeySignals', description: 'What to tell the browser. Null for a user who never had a passkey.' },
)

export const RenameAnswer = Type.Object(
  { passkey: PasskeyRecord },
  { title: 'RenamedPasskey', description: 'The passkey with its new name.' },
)

export const DeleteAnswer = Type.Object(
  { status: text('`passkey-deleted`.') },
  { title: 'DeletedPasskey', description: 'The passkey was deleted.' },
)
