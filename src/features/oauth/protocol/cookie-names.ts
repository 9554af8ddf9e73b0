/** The cookie of the OAuth server's own session. */
export const sessionCookie = 'svc_oauth_session'

/** Names of the cookies of an interaction, without its uid: one for its page, one to resume the authorization. */
export const interactionCookie = 'svc_oauth_interaction'
export const resumeCookie = 'svc_oauth_resume'

/** The options of every cookie of the OAuth server. */
export const cookieOptions = (isHttps: boolean) =>
  ({ httpOnly: true, overwrite: true, secure: isHttps, signed: true }) as const

/** The options of the session's cookie. */
export const sessionCookieOptions = (isHttps: boolean) =>
  ({ ...cookieOptions(isHttps), sameSite: isHttps ? 'none' : 'lax' }) as const
