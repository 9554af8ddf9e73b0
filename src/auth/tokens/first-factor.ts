import type { UserWithPassword } from '../../identity/users.ts'
import { nullableText } from '../../platform/http/fields.ts'
import type { Static, TObject, TProperties, TSchema } from '../../platform/json-schema.ts'
import type { Visit } from '../access/visit.ts'
import type { AuthenticationMethod } from '../sign-in/authentication-methods.ts'
import type { Channel } from '../sign-in/channel.ts'

/** A user who proved a first factor without a session. */
export interface FirstFactor extends UserWithPassword {
  method: AuthenticationMethod
  channel: Channel
}

/** A proof that `POST /svc/token` accepts in place of the password. It works once. */
export interface TokenProof {
  /** Name of the body field that selects the proof. */
  name: string
  /** The fields of the proof, by name. */
  fields: Readonly<Record<string, TSchema>>
  /** The fields that the proof requires. */
  required: readonly string[]
  /** Limit that counts the requests with this proof. */
  limit?: 'token'
  /** Verifies the proof. Throws the error of the response. */
  verify(visit: Visit, body: object): Promise<FirstFactor>
}

/** Body field that several proofs share: binds a proof to the app that started the sign-in. */
export const challengeTokenField = nullableText(
  'With `credential` or `email_code`: the `challenge_token` of the response that started the sign-in.',
  { maxLength: 255 },
)

/** Declares a proof. svc validates the body by the schemas before it verifies the proof. */
export function tokenProof<Fields extends TProperties>({
  verify,
  ...proof
}: Omit<TokenProof, 'fields' | 'verify'> & {
  fields: Fields
  verify(visit: Visit, body: Static<TObject<Fields>>): Promise<FirstFactor>
}): TokenProof {
  return { ...proof, verify: (visit, body) => verify(visit, body as Static<TObject<Fields>>) }
}
