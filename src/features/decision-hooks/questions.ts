import type { AskedAccount, AskedToken, ProvedSignIn } from '../../auth/sign-in/decisions.ts'
import type { EventContext } from '../../identity/events.ts'
import { groupsOf } from '../../identity/groups.ts'
import type { User } from '../../identity/user.ts'
import type { Config } from '../../platform/config/schema.ts'

/** The request that a decision is about. */
const requestOf = ({ ipAddress, userAgent, requestId, language }: EventContext) => ({
  ip_address: ipAddress,
  user_agent: userAgent,
  request_id: requestId,
  language,
})

const subjectOf = (user: User, config: Config) => ({
  id: user.id,
  name: user.name,
  username: user.username,
  email: user.email,
  email_verified_at: user.email_verified_at,
  role: user.role,
  groups: groupsOf(user, config),
  fields: user.fields ?? {},
  two_factor_enabled: user.two_factor_enabled,
  created_at: user.created_at,
})

/** `data` of the question before a registration. */
export const registrationQuestion = (origin: EventContext, { isInvited, method, ...account }: AskedAccount) => ({
  method,
  invited: isInvited,
  account,
  ...requestOf(origin),
})

/** `data` of the question before a sign-in. */
export const signInQuestion = (
  origin: EventContext,
  config: Config,
  { user, channel, method, amr, isNewAccount }: ProvedSignIn,
) => ({
  user: subjectOf(user, config),
  channel,
  method,
  amr,
  new_account: isNewAccount,
  ...requestOf(origin),
})

/** `data` of the question before access tokens. */
export const tokenQuestion = (
  origin: EventContext,
  config: Config,
  { user, clientId, grant, scopes, audience }: AskedToken,
) => ({
  user: user && subjectOf(user, config),
  client_id: clientId,
  grant_type: grant,
  scopes,
  audience,
  ...requestOf(origin),
})
