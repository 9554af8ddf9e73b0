import Provider from 'oidc-provider'

/** Why a refresh token is refused, for the log. The client receives one error for all of them. */
type Cause = 'its session has ended' | 'it has expired'

const causes = new WeakMap<object, Cause>()

/** Notes the cause for the current request. */
export function noteCause(cause: Cause): void {
  const { ctx } = Provider
  if (ctx) causes.set(ctx, cause)
}

/** Causes by the details of the library. */
const details: Readonly<Record<string, string>> = {
  'refresh token not found': 'it was revoked, or svc never issued it',
  'refresh token already used': 'it was used before, so svc revoked its grant (a second use counts as theft)',
  'refresh token is expired': 'it has expired',
  'client mismatch': 'it belongs to another client',
  'grant not found': 'its grant was revoked',
  'grant is expired': 'its grant has expired',
}

/** Returns why the refresh token of a request was refused. */
export const causeOf = (ctx: object, detail: string | undefined): string =>
  causes.get(ctx) ?? details[detail ?? ''] ?? detail ?? 'it is invalid'
