import { choice, duration, durationOrOff, flag, integer, list, nullable, secretUrl, section, text } from './kinds.ts'
import { loginIdentifiers } from './users.ts'

/** The sections of the account pages, in the order of their menu. */
export const accountPageNames = [
  'profile',
  'password',
  'two-factor',
  'passkeys',
  'sessions',
  'applications',
  'tokens',
  'personal-tokens',
  'providers',
  'activity',
  'data',
] as const

/** Name of a section of the account pages, and the end of its path. */
export type AccountPageName = (typeof accountPageNames)[number]

/** Registration, credentials, mail and links. */
export const accountSections = {
  registration: section('New accounts.', {
    enabled: flag({ default: true, description: 'Whether users can register.' }),
    role: text({ default: 'user', maxLength: 255, description: 'The role of a new account.' }),
    allowed_domains: nullable(
      list(text({ format: 'email-domain', description: 'A domain.' }), {
        minItems: 1,
        example: ['example.com', '*.example.com'],
        description:
          'Domains of the email addresses that users can register with and change to. example.com does not include its subdomains; *.example.com includes only them. Applies to registration by password and by provider, and to changed addresses. Existing accounts, invitations and svc user:create are exempt. By default every domain.',
      }),
    ),
    email_change: choice(['verified', 'immediate'], {
      default: 'verified',
      description:
        'When a new email address takes effect. verified: after its owner followed the mailed link; until then the account keeps the old address, and the user object has pending_email. immediate: immediately and unverified, as in Laravel. In both cases the old address gets a link that undoes the change for 7 days. For users whose address was never verified, a change takes effect immediately.',
    }),
    require_verified_email: flag({
      default: false,
      description: 'Whether users must verify their address before they can use more than the basic account routes.',
    }),
  }),
  invitations: section('Invitations, which administrators send.', {
    ttl: duration({ default: '7d', description: 'How long the link of an invitation is valid.' }),
  }),
  login: section('Ways to sign in.', {
    identifiers: loginIdentifiers,
    trust_browser: durationOrOff({
      default: 'off',
      example: '30d',
      description:
        'How long users may sign in without their second factor in a browser that they trusted, when they entered a code there. A new password or second factor ends the trust. Such a sign-in satisfies no rule that requires a second factor.',
    }),
    email_code: flag({
      default: false,
      description:
        'Whether users can sign in with a code or link that svc mails to them. Accounts with a second factor still need it. Anyone who can read the mailbox can sign in, as with a password reset.',
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
      description: 'The maximum length of a new password. Longer passwords only cost time to hash.',
    }),
    block_common: flag({
      default: true,
      description: 'Whether to reject passwords known from data leaks, which attackers try first.',
    }),
    breached: section('Your own list of leaked passwords. svc asks no other service.', {
      file: nullable(
        text({
          example: '/var/lib/svc/breached.index',
          description:
            'An index of leaked passwords, which svc rejects as new ones. "svc passwords:index" makes it of a list, such as that of Have I Been Pwned. A new file takes effect without a reload.',
        }),
      ),
    }),
    confirm_timeout: duration({ default: '3h', description: 'How long a password confirmation is valid.' }),
    reset_expires: duration({ default: '60m', max: '36500d', description: 'How long a reset link is valid.' }),
    reset_throttle: duration({
      default: '60s',
      zero: true,
      max: '36500d',
      description: 'The minimum time between two reset mails to one address.',
    }),
    reveal_unknown_email: flag({
      default: false,
      description:
        'Whether password reset reveals that an address is unknown. Off by default, to keep secret who has an account.',
    }),
    reset_revokes_tokens: flag({
      default: false,
      description:
        'Whether a password reset also revokes API tokens. Off by default, so that integrations keep working.',
    }),
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
      description: 'How many steps of 30 seconds the clock of an authenticator may differ.',
    }),
    confirm_password: flag({
      default: true,
      description: 'Whether changing the second factor requires a recently confirmed password.',
    }),
  }),
  account: section('The pages below /account, where users manage their own accounts.', {
    sections: nullable(
      list(choice(accountPageNames, { description: 'A section.' }), {
        description:
          'The sections to show. null shows the sections of all enabled features; an empty list turns the pages off.',
        example: ['profile', 'password', 'sessions'],
      }),
    ),
  }),
  mail: section('Outgoing mail.', {
    url: secretUrl({
      default: 'log:',
      format: 'mail-url',
      description:
        'log: prints mails (development only). file:<directory> writes .eml files. smtp://user:password@host:port and smtps://… send mails, smtps: with TLS from the start. svc retries for about fifteen hours. The default needs no mail server.',
    }),
    tls: nullable(
      choice(['required', 'opportunistic', 'none'], {
        description:
          'Whether svc encrypts an smtp: connection with STARTTLS. opportunistic sends in clear text if the server does not offer it, and so does svc if an attacker removes the offer. null means required in production, and opportunistic in development and for a server on loopback. No effect with smtps:.',
        example: 'required',
      }),
    ),
    ca_file: nullable(
      text({
        description:
          'A PEM file with the certificate authorities of the mail server. null means those that Node.js trusts.',
        example: '/etc/svc/mail-ca.pem',
      }),
    ),
    from: text({ default: 'svc <no-reply@localhost>', format: 'mailbox', description: 'The sender.' }),
  }),
  links: section(
    'Targets of mailed links and redirects: a path of svc, or a URL. {frontend_url} is app.frontend_url.',
    {
      verify: text({
        default: '/email/verify/{id}/{hash}',
        format: 'link',
        description: 'The link that verifies an address. Must contain {id} and {hash}.',
      }),
      reset: text({
        default: '{frontend_url}/reset-password/{token}?email={email}',
        format: 'link',
        description: 'The page that sets a new password. Must contain {token}, may contain {email}.',
      }),
      login: nullable(
        text({
          format: 'link',
          description: 'The sign-in page of your application. svc adds ?return_to=. null means the built-in page.',
        }),
      ),
      register: nullable(
        text({
          format: 'link',
          description: 'The registration page of your application. svc adds ?return_to=. null means the built-in page.',
        }),
      ),
      account: nullable(
        text({
          format: 'link',
          description: 'The account page of your application. null means the built-in pages below /account.',
        }),
      ),
      two_factor: text({
        default: '{frontend_url}/two-factor-challenge',
        format: 'link',
        description: 'The page that asks for the second factor after a sign-in without a password.',
      }),
      after_verify: text({
        default: '{frontend_url}/?verified=1',
        format: 'link',
        description: 'Where to redirect a browser after its address was verified.',
      }),
      help: nullable(text({ format: 'link', description: 'Your help page, linked below each page of svc.' })),
      privacy: nullable(text({ format: 'link', description: 'Your privacy policy, linked below each page of svc.' })),
      terms: nullable(text({ format: 'link', description: 'Your terms of service, linked below each page of svc.' })),
    },
  ),
}
