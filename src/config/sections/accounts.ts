import { choice, duration, flag, integer, nullable, secretUrl, section, text } from './kinds.ts'

/** Registration, credentials, mail and links. */
export const accountSections = {
  registration: section('New accounts.', {
    enabled: flag({ default: true, description: 'Whether users can register.' }),
    role: text({ default: 'user', maxLength: 255, description: 'The role of a new account.' }),
    email_change: choice(['verified', 'immediate'], {
      default: 'verified',
      description:
        'When a new email address takes effect: once it is verified, or immediately and unverified. For users whose address was never verified, always immediately.',
    }),
    require_verified_email: flag({
      default: false,
      description: 'Whether users must verify their address before they can use more than the basic account routes.',
    }),
  }),
  passwords: section('Passwords.', {
    min_length: integer({
      default: 8,
      minimum: 1,
      maximum: 256,
      description: 'The minimum length of a new password.',
    }),
    max_length: integer({
      default: 1024,
      minimum: 64,
      maximum: 4096,
      description: 'The maximum length of a new password.',
    }),
    block_common: flag({ default: true, description: 'Whether to reject passwords known from data leaks.' }),
    confirm_timeout: duration({ default: '3h', description: 'How long a password confirmation is valid.' }),
    reset_expires: duration({ default: '60m', description: 'How long a reset link is valid.' }),
    reset_throttle: duration({
      default: '60s',
      zero: true,
      description: 'The minimum time between two reset mails to one address.',
    }),
    reveal_unknown_email: flag({
      default: false,
      description: 'Whether password reset reveals that an address is unknown.',
    }),
    reset_revokes_tokens: flag({ default: false, description: 'Whether a password reset also revokes API tokens.' }),
  }),
  two_factor: section('Two-factor authentication with authenticator apps.', {
    enabled: flag({
      default: true,
      description: 'Whether users can use a second factor. If false, a password alone signs in every user.',
    }),
    window: integer({
      default: 1,
      minimum: 0,
      maximum: 10,
      description: 'How many 30-second steps the clock of an authenticator may differ.',
    }),
    confirm_password: flag({
      default: true,
      description: 'Whether changing the second factor requires a recently confirmed password.',
    }),
  }),
  mail: section('Outgoing mail.', {
    url: secretUrl({
      default: 'log:',
      format: 'mail-url',
      description:
        'log: prints mails, file:<directory> writes .eml files, smtp(s)://user:password@host:port sends them.',
    }),
    from: text({ default: 'svc <no-reply@localhost>', format: 'mailbox', description: 'The sender.' }),
  }),
  links: section('Targets of mailed links and redirects. {frontend_url} is app.frontend_url.', {
    verify: text({
      default: '/email/verify/{id}/{hash}',
      format: 'link',
      description: 'The link that verifies an address.',
    }),
    reset: text({
      default: '{frontend_url}/reset-password/{token}?email={email}',
      format: 'link',
      description: 'The page that sets a new password.',
    }),
    login: nullable(
      text({ format: 'link', description: 'The sign-in page of your application. null means the built-in page.' }),
    ),
    two_factor: text({
      default: '{frontend_url}/two-factor-challenge',
      format: 'link',
      description: 'The page that asks for the second factor after a social login.',
    }),
    after_verify: text({
      default: '{frontend_url}/?verified=1',
      format: 'link',
      description: 'Where to redirect after an address was verified.',
    }),
  }),
}
