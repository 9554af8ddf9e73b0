/** The cookie of the OAuth server's own session. */
export const sessionCookie = 'svc_oauth_session'

/** The cookies of an interaction, without its uid: for its page, and for going on after it. */
export const interactionCookie = 'svc_oauth_interaction'
export const resumeCookie = 'svc_oauth_resume'
