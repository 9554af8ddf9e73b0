import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { visitOf } from '../../../auth/access/visit.ts'
import { authenticate } from '../../../auth/sign-in/authenticate.ts'
import { codeMethod, passwordMethod, withMethod } from '../../../auth/sign-in/authentication-methods.ts'
import { isRefusedSignIn } from '../../../auth/sign-in/decisions.ts'
import { typedIdentifier } from '../../../auth/sign-in/identifier.ts'
import { noticeApplication } from '../../../auth/sign-in/new-device.ts'
import { secondFactorErrors } from '../../../auth/sign-in/second-factor.ts'
import { checkTokenSignIn, recordTokenSignIn } from '../../../auth/sign-in/token-sign-in.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { typedText } from '../../../platform/http/fields.ts'
import { acrOf } from '../authentication-context.ts'
import { chooseTarget } from '../clients/choose-target.ts'
import { idTokenClaimsOf } from '../clients/claims.ts'
import type { Registry } from '../clients/clients.ts'
import { requestFactsOf } from './browser.ts'
import { grantScopes, newGrant } from './grants.ts'
import { issueToken } from './issued-token.ts'
import { decideToken } from './token-decision.ts'

const gty = 'password'

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000)

const refused = (description = 'The user credentials were incorrect.') =>
  new errors.CustomOIDCProviderError('invalid_grant', description)

/**
 * Resource owner password credentials (RFC 6749 section 4.3), for clients that list the grant. The password check,
 * limits and timing are those of every other sign-in. A user with a second factor also sends `otp`.
 */
export async function passwordGrant(ctx: KoaContextWithOIDC, config: Config, registry: Registry): Promise<void> {
  const { provider, client, params } = ctx.oidc
  if (!client) throw new errors.InvalidClient('client is invalid')
  const registered = registry.client(client.clientId)
  const [username, password, otp] = [typedText(params?.username), typedText(params?.password), typedText(params?.otp)]
  if (username === '' || password === '') throw new errors.InvalidRequest('username and password are required')
  const asked = typedText(params?.scope) || registry.defaultScope(client.clientId, params?.resource)
  const scopes = [...new Set(asked.split(' ').filter((name) => name !== ''))]
  const target = chooseTarget(registry.targets(client.clientId), scopes, params?.resource)

  const { request } = requestFactsOf(ctx.req)
  const { database, clock } = request.server
  const named = typedIdentifier(config, username)
  if (!named) throw refused()
  const found = await authenticate(visitOf(request), { ...named, password, channel: 'password_grant' })
  if (!found) throw refused()
  const signIn = await checkTokenSignIn(visitOf(request), found, {
    channel: 'password_grant',
    proof: { code: otp },
  }).catch((error) => {
    throw isRefusedSignIn(error) ? refused(error.message) : error
  })
  if (signIn === 'email_unverified') throw refused('Your email address is not verified.')
  if (signIn === 'second_factor') throw refused(secondFactorErrors({}).code?.[0])

  const { user } = signIn
  await decideToken(ctx, { user, scopes, audience: target.audience })
  const accountId = String(user.id)
  const grant = newGrant(provider, { accountId, clientId: client.clientId })
  grantScopes(grant, scopes, [target])
  const grantId = await grant.save()
  // Checked again after the write, so that a concurrent password reset leaves no grant behind.
  const isTheirs = await database.transaction(async (tx) => {
    const data = { method: 'password_grant', client_id: client.clientId }
    if (!(await recordTokenSignIn(tx, visitOf(request), signIn, data))) return false
    await noticeApplication(tx, visitOf(request), user, {
      id: client.clientId,
      name: registered?.name ?? client.clientId,
    })
    return true
  })
  if (!isTheirs) {
    await grant.destroy()
    throw refused()
  }

  const first = withMethod([], passwordMethod)
  const amr = signIn.usedSecondFactor ? withMethod(first, codeMethod) : first
  const [acr, authTime] = [acrOf(amr), seconds(clock.now())]
  const authentication = { acr, auth_time: authTime }
  const issued = await issueToken(ctx, { target, accountId, grantId, gty, scopes, authentication })
  const facts = { accountId, client, grantId, gty, scope: scopes.join(' '), acr, amr, authTime }
  const refreshToken = client.grantTypeAllowed('refresh_token')
    ? await new provider.RefreshToken({ ...facts, resource: target.resource, rotations: 0 } as never).save()
    : undefined
  ctx.body = {
    ...issued,
    refresh_token: refreshToken,
    id_token: scopes.includes('openid')
      ? await idTokenOf(ctx, idTokenClaimsOf(config, user, registry, client.clientId), facts)
      : undefined,
    scope: scopes.join(' '),
  }
}

/** User, time and methods of the sign-in (OpenID Connect Core section 2). */
async function idTokenOf(
  ctx: KoaContextWithOIDC,
  available: Record<string, unknown>,
  { scope, acr, amr, authTime }: { scope: string; acr: string; amr: readonly string[]; authTime: number },
): Promise<string> {
  const { IdToken } = ctx.oidc.provider
  const token = Object.assign(new IdToken({ ...available, acr, amr }, { ctx }), { scope })
  token.set('auth_time', authTime)
  return token.issue({ use: 'idtoken' })
}
