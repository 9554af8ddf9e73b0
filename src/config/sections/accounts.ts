import { choice, duration, flag, integer, list, nullable, secretUrl, section, text } from './kinds.ts'

/** How people register, prove who they are and hear from svc. */
export const accountSections = {
  registration: section('New accounts.', {
    enabled: flag({ default: true, description: 'Whether people may register themselves.' }),
    role: text({ default: 'user', maxLength: 255, description: 'The role of a new account.' }),
    email_change: choice(['verified', 'immediate'], {
      default: 'verified',
      description:
        'When a new email address takes effect: once it is verified, or immediately and unverified. A user whose address was never verified always changes it immediately.',
    }),
    require_verified_email: flag({
      default: false,
      description: 'Whether an unverified account may do next to nothing.',
    }),
  }),
  passwords: section('Passwords.', {
    min_length: integer({
      default: 8,
      minimum: 1,
      maximum: 256,
      description: 'The fewest characters of a new password.',
    }),
    max_length: integer({
      default: 1024,
      minimum: 64,
      maximum: 4096,
      description: 'The most characters of a new password.',
    }),
    block_common: flag({ default: true, description: 'Whether passwords known from leaks are refused.' }),
    confirm_timeout: duration({ default: '3h', description: 'How long a confirmed password counts as confirmed.' }),
    reset_expires: duration({ default: '60m', description: 'How long a reset link works.' }),
    reset_throttle: duration({
      default: '60s',
      zero: true,
      description: 'The shortest time between two reset mails to one address.',
    }),
    reveal_unknown_email: flag({
      default: false,
      description: 'Whether password reset says that an address is unknown.',
    }),
    reset_revokes_tokens: flag({ default: false, description: 'Whether a password reset revokes API tokens too.' }),
  }),
  two_factor: section('Second factor by authenticator app.', {
    enabled: flag({
      default: true,
      description: 'Whether there is one. Off, a password alone signs in, also where one was confirmed.',
    }),
    window: integer({
      default: 1,
      minimum: 0,
      maximum: 10,
      description: 'How many 30-second steps a clock may be off.',
    }),
    confirm_password: flag({ default: true, description: 'Whether a change asks for the password first.' }),
  }),
  passkeys: section('Passkeys (WebAuthn).', {
    enabled: flag({ default: true, description: 'Whether there are passkeys.' }),
    rp_id: nullable(
      text({
        format: 'domain',
        description:
          'The domain that passkeys are bound to. By default the longest common domain of app.url and app.frontend_url.',
      }),
    ),
    origins: nullable(
      list(text({ format: 'passkey-origin', description: 'An origin.' }), {
        minItems: 1,
        description: 'Origins whose pages and apps may use passkeys. By default app.url and app.frontend_url.',
      }),
    ),
    user_verification: choice(['required', 'preferred', 'discouraged'], {
      default: 'required',
      description: 'Whether the authenticator asks for a PIN, finger or face.',
    }),
    confirm_password: flag({ default: true, description: 'Whether a new passkey asks for the password first.' }),
  }),
  mail: section('Outgoing mail.', {
    url: secretUrl({
      default: 'log:',
      format: 'mail-url',
      description: 'log: prints mails, file:<directory> writes one .eml each, smtp(s)://user:password@host:port sends.',
    }),
    from: text({ default: 'svc <no-reply@localhost>', format: 'mailbox', description: 'The sender.' }),
  }),
  links: section('Where mails and redirects lead; {frontend_url} stands for app.frontend_url.', {
    verify: text({ default: '/email/verify/{id}/{hash}', format: 'link', description: 'Verifies an address.' }),
    reset: text({
      default: '{frontend_url}/reset-password/{token}?email={email}',
      format: 'link',
      description: 'Chooses a new password.',
    }),
    login: nullable(
      text({ format: 'link', description: "The application's own sign-in page; null uses the built-in one." }),
    ),
    two_factor: text({
      default: '{frontend_url}/two-factor-challenge',
      format: 'link',
      description: 'Asks for the second factor after a social login.',
    }),
    after_verify: text({
      default: '{frontend_url}/?verified=1',
      format: 'link',
      description: 'After an address was verified.',
    }),
  }),
}
