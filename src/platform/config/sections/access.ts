import { Type } from '../../json-schema.ts'
import { choice, duration, durationOrOff, flag, list, nullable, section, text } from './kinds.ts'

/** Hosts of common development servers. */
export const defaultStateful: readonly string[] = [
  'localhost',
  'localhost:3000',
  'localhost:5173',
  '127.0.0.1',
  '127.0.0.1:8000',
  '::1',
]

/** Sessions, API tokens and the origins that may use them. */
export const accessSections = {
  stateful: list(text({ format: 'stateful-host', description: 'A host with an optional port.' }), {
    default: [...defaultStateful],
    description:
      'Hosts of your front ends, with ports, whose pages may use session cookies. * matches any characters within one label, as in *.example.com. The host of app.url is always included. The default lists common development hosts.',
  }),
  stateful_api: flag({
    default: true,
    description: 'Whether API routes accept session cookies. If false, they accept bearer tokens only.',
  }),
  expiration: nullable(
    duration({
      numberUnit: 'm',
      example: '365d',
      description:
        'Maximum age of API tokens, as a duration or a number of minutes. An older token expires even if its own date is later. null sets no maximum, because clients cannot renew a token.',
    }),
  ),
  tokens: section('API tokens.', {
    prefix: Type.String({
      default: '',
      pattern: '^[A-Za-z0-9_-]{0,32}$',
      description:
        'Prefix of the secret in new tokens, so that secret scanners recognise leaked ones. Empty by default, as existing clients expect.',
      'x-svc-expected': 'at most 32 letters, digits, - or _',
      'x-svc-reload': 'live',
    }),
    default_abilities: list(text({ maxLength: 255, description: 'An ability.' }), {
      default: ['*'],
      maxItems: 100,
      description:
        'The abilities of a token that is created without any. * means all abilities, which existing clients expect.',
    }),
    confirm_password: flag({
      default: false,
      description:
        'Whether creating API tokens and personal access tokens requires a recently confirmed password (423). An API token then cannot create others. Off by default, because existing clients do not confirm.',
    }),
    prune_after: duration({
      default: '24h',
      zero: true,
      description:
        'How long the daily pruning keeps an expired token. Until then, users can see why it stopped working.',
    }),
  }),
  session: section('Browser sessions.', {
    cookie: text({
      default: 'svc_session',
      format: 'cookie-name',
      reload: 'restart',
      description:
        'The name of the session cookie. On https svc adds the prefix __Host-, or __Secure- if a domain is set.',
    }),
    xsrf_cookie: text({
      default: 'XSRF-TOKEN',
      format: 'cookie-name',
      reload: 'restart',
      description:
        'The name of the cookie with the CSRF token, which scripts read and send back in the header X-XSRF-TOKEN. Choose another name if another application on the same host sets XSRF-TOKEN too, and tell the clients: xsrfCookie in @svc/client, xsrfCookieName in axios.',
    }),
    lifetime: duration({
      default: '2h',
      max: '3650d',
      description: 'Time without a request after which a session expires.',
    }),
    absolute_lifetime: duration({
      default: '30d',
      max: '36500d',
      description:
        'The maximum lifetime of a session, even while it is in use, so that a stolen cookie does not work forever.',
    }),
    domain: nullable(
      text({
        format: 'domain',
        reload: 'restart',
        description:
          'The domain of the cookies. .example.com shares them with all subdomains, for an application on another subdomain. It must include app.url. null limits them to the host of app.url.',
      }),
    ),
    same_site: choice(['lax', 'strict', 'none'], {
      default: 'lax',
      reload: 'restart',
      description:
        'The SameSite attribute of the cookies. With lax, a link in a mail finds the session. With strict, a page that another site links to loads a second time to get the cookies. none requires secure.',
    }),
    secure: choice(['auto', true, false], {
      default: 'auto',
      reload: 'restart',
      description: 'Whether cookies are sent over https only. auto follows the scheme of app.url.',
    }),
    confirmed_by_sign_in: durationOrOff({
      default: '15m',
      description:
        'How long a sign-in counts as a password confirmation, so that svc does not ask for the password again. passwords.confirm_timeout limits it too. Sign-ins with a mailed code or at a provider never count.',
    }),
    remember_lifetime: duration({
      default: '400d',
      max: '3650d',
      description: 'How long a remembered browser stays signed in. 400d is the maximum that browsers accept.',
    }),
    bound: choice(['off', 'when_available'], {
      default: 'off',
      description:
        'Whether browsers bind their sessions to the device (W3C Device Bound Session Credentials), so that copied cookies stop working after bound_interval. Browsers that cannot do this keep ordinary sessions. Requires https. With session.domain, the site of the domain must serve /.well-known/device-bound-sessions from svc.',
    }),
    bound_interval: duration({
      default: '10m',
      max: '24h',
      description: 'How often a browser proves that it still has the key of a bound session.',
    }),
    bound_required_for: list(text({ maxLength: 255, description: 'A role.' }), {
      default: [],
      example: ['admin'],
      description:
        'The roles of the users whose sessions must be bound. In a browser that cannot bind its session, these users cannot sign in.',
    }),
    login_failure_status: choice([401, 422], {
      default: 401,
      description: 'The status of a failed login. Some clients, such as breeze-next, show errors only for 422.',
    }),
  }),
  cors: section('Cross-origin requests (CORS).', {
    origins: nullable(
      list(text({ format: 'origin', description: 'An origin.' }), {
        example: ['https://app.example.com'],
        description:
          'Origins that may call the API from a browser. In production they must be https. By default derived from the stateful list, in production without loopback hosts.',
      }),
    ),
    supports_credentials: flag({
      default: true,
      description: 'Whether these requests may include cookies. Single-page applications sign in with cookies.',
    }),
  }),
  compat: section('Compatibility with other servers.', {
    prefixes: list(
      text({
        pattern: '^(?!oauth$)[a-z][a-z0-9-]*$',
        expected: 'one path segment of lowercase letters, digits and -, except oauth',
        description: 'One path segment.',
      }),
      {
        default: ['svc'],
        minItems: 1,
        reload: 'restart',
        description:
          'Path prefixes of csrf-cookie and token. [svc, sanctum] also serves /sanctum/csrf-cookie and /sanctum/token.',
      },
    ),
  }),
}
