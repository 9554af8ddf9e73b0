import { acceptedVersion } from '../../auth/access/accepted-terms.ts'
import type { Visit } from '../../auth/access/visit.ts'
import { chosenNames, fieldsField, nameFields } from '../../identity/chosen-names.ts'
import { recordEvent } from '../../identity/events.ts'
import { registeredFields } from '../../identity/fields.ts'
import { withAcceptance } from '../../identity/terms.ts'
import { usedUsernames, usernameTaken } from '../../identity/username.ts'
import { createUser, findUserByEmail } from '../../identity/users.ts'
import { sendVerification } from '../../identity/verification.ts'
import { HttpError, validationFailed } from '../../platform/errors.ts'
import { requireAllowedDomain } from '../../platform/http/allowed-domains.ts'
import { emailField, nullable, rememberFlag } from '../../platform/http/fields.ts'
import { isSet } from '../../platform/http/flag.ts'
import { NewPassword, nameField, PasswordConfirmation } from '../../platform/http/validation.ts'
import { type Static, Type } from '../../platform/json-schema.ts'

export const RegisterBody = Type.Object(
  {
    name: Type.String({ ...nameField, description: 'The full name.' }),
    ...nameFields,
    fields: fieldsField,
    email: emailField('The email address. svc sends the verification mail there.'),
    password: NewPassword,
    password_confirmation: PasswordConfirmation,
    remember: rememberFlag,
    terms: Type.Optional(
      nullable(
        Type.String({ maxLength: 50, description: 'The version of the terms that the user accepts (`GET /terms`).' }),
      ),
    ),
  },
  { title: 'RegisterRequest', additionalProperties: false },
)

const taken = () => validationFailed({ email: ['The email has already been taken.'] })

/**
 * Creates an account and mails the verification link. Returns the sign-in for `continueSignIn`. 422 if the address is
 * or the username is taken, or if its domain is not allowed.
 */
export async function register(visit: Visit, body: Static<typeof RegisterBody>) {
  const { name, email, password, remember } = body
  const app = visit.app
  if (visit.caller) throw new HttpError(409, 'already_signed_in', 'You are signed in already.')
  requireAllowedDomain(app.config.current(), email)
  const { username, attributes: names } = chosenNames(app.config.current(), body)
  const version = acceptedVersion(app.config.current(), body.terms)
  const attributes = {
    ...names,
    fields: registeredFields(app.config.current(), body.fields),
    ...(version === null ? {} : { terms: withAcceptance([], version, visit.origin.now) }),
  }
  // Before hashing, which is the expensive part.
  if (await findUserByEmail(app.database, email)) throw taken()
  if (username && (await usedUsernames(app.database, [username])).has(username)) throw usernameTaken()
  const { given_name = null, family_name = null } = names
  await app.decisions.registration(visit, {
    ...{ name, email, username: username ?? null, given_name, family_name, fields: attributes.fields },
    ...{ method: 'password', isInvited: false },
  })
  const hash = await app.hashing.hash(password, app.loginLimiter.laneOf(visit, email))
  const origin = visit.origin
  const { role } = app.config.current().registration
  const user = await app.database.transaction(async (tx) => {
    const created = await createUser(tx, {
      username,
      attributes,
      name,
      email,
      password: hash,
      role,
      verified: false,
      now: origin.now,
    })
    if (!created) return null
    await recordEvent(tx, origin, { type: 'registered', userId: created.id })
    if (version !== null)
      await recordEvent(tx, origin, { type: 'terms_accepted', userId: created.id, data: { version } })
    await sendVerification(app, tx, origin, created, 'registration')
    return created
  })
  if (!user) throw taken()
  const channel = 'registration' as const
  return { user, password: hash, remember: isSet(remember), channel, isNewAccount: true }
}
