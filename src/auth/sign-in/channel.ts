/**
 * Entry points of sign-ins and confirmations, as events and metrics name them. Features declare their own.
 * @public
 */
export interface Channels {
  login: true
  page: true
  token: true
  test_page: true
  confirm: true
  change: true
  password_grant: true
  registration: true
  challenge: true
  step_up: true
  email_code: true
  invitation: true
  remembered: true
}

/** Entry point of a sign-in or confirmation. */
export type Channel = keyof Channels
