import { themeColors } from '../theme-colors.ts'
import {
  choice,
  duration,
  entry,
  flag,
  integer,
  list,
  named,
  nullable,
  rate,
  secret,
  secrets,
  secretUrl,
  section,
  text,
} from './kinds.ts'

/** The service, its socket and its stores. */
export const serverSections = {
  app: section('The service.', {
    name: text({
      default: 'svc',
      maxLength: 100,
      description: 'The name shown in pages, mails and authenticator apps.',
    }),
    url: text({
      default: 'http://localhost:8000',
      format: 'origin',
      reload: 'restart',
      description: 'The public address of svc, as an origin without a path. It is also the OAuth issuer.',
    }),
    frontend_url: nullable(
      text({ format: 'origin', description: 'The origin of your single-page application. By default app.url.' }),
    ),
    secret: secrets({
      reload: 'restart',
      description:
        'At least 32 bytes, or a list. The first secret encrypts and signs; all of them decrypt and verify. Required in production. In development svc creates one in the data directory.',
    }),
    environment: nullable(
      choice(['development', 'production'], {
        reload: 'restart',
        description:
          'In production svc refuses to start with an insecure configuration. Required unless app.url is on loopback, where null means development.',
      }),
    ),
  }),
  server: section('The listening socket.', {
    host: text({ default: '0.0.0.0', reload: 'restart', description: 'The address to listen on.' }),
    port: integer({
      default: 8000,
      minimum: 0,
      maximum: 65_535,
      reload: 'restart',
      expected: 'a port number from 0 to 65535',
      description: 'The port to listen on. 0 chooses a free port.',
    }),
    trust_proxy: list(text({ format: 'cidr', description: 'An address range.' }), {
      default: [],
      reload: 'restart',
      description: 'Address ranges of the proxies in front. svc ignores forwarded headers from other addresses.',
    }),
    drain: duration({
      default: '5s',
      zero: true,
      reload: 'restart',
      description: 'How long svc keeps serving requests after SIGTERM while /health/ready returns 503.',
    }),
  }),
  database: section('The database.', {
    url: secretUrl({
      default: 'file:./data/svc.db',
      format: 'database-url',
      reload: 'restart',
      description: 'file:<path> for SQLite, or postgresql://user:password@host:port/name.',
    }),
  }),
  redis: section('Redis, optional.', {
    url: nullable(
      secretUrl({
        format: 'redis-url',
        reload: 'restart',
        description:
          'redis://… or rediss://…. Stores rate limits and short-lived OAuth state. Sessions stay in the database.',
      }),
    ),
  }),
}

/** Operation: limits, outbound requests, metrics, webhooks, and development aids. */
export const operationSections = {
  rate_limits: section('Rate limits: <count>/<duration>, or null for no limit.', {
    login: rate({ default: '5/1m', description: 'Failed sign-ins to one account from one address.' }),
    login_address: rate({
      default: '100/10m',
      description:
        'Failed sign-ins from one address to all accounts. Does not apply to browsers that signed in to the account before.',
    }),
    exempt: list(text({ format: 'cidr', description: 'An address range.' }), {
      default: [],
      description: 'Address ranges exempt from login_address, such as front-end servers that sign users in.',
    }),
    two_factor: rate({ default: '5/1m', description: 'Failed second-factor codes for one account.' }),
    register: rate({ default: '10/1m', description: 'Registrations from one address, including successful ones.' }),
    mail: rate({
      default: '6/1m',
      description:
        'Requests that send mail, by one user or from one address, and mails to one mailbox. After many mails in a day, the wait grows up to an hour. Security notices are delayed and merged, not rejected.',
    }),
    token: rate({
      default: '60/1m',
      description:
        'Failed client authentications by client and address, and provider codes from mobile apps by address.',
    }),
    authorization: rate({
      default: '1000/10m',
      description:
        'Stored authorization requests, pushed requests and device codes, by address or signed-in user. Does not apply to confidential clients.',
    }),
    authorization_total: rate({
      default: '100000/1h',
      description: 'The same of each kind and client, for all addresses together, without signed-in users.',
    }),
    global: rate({ default: null, description: 'All requests from one address.' }),
  }),
  outbound: section('Outbound requests to clients, identity providers and webhooks.', {
    allow_private: list(text({ format: 'cidr', description: 'An address range.' }), {
      default: [],
      description: 'Private address ranges that outbound requests may reach.',
    }),
  }),
  metrics: section('Metrics for Prometheus.', {
    port: nullable(
      integer({
        minimum: 1,
        maximum: 65_535,
        reload: 'restart',
        expected: 'a port number from 1 to 65535, or null',
        description: 'The port of GET /metrics on server.host. null turns metrics off.',
      }),
    ),
  }),
  audit: section('The audit trail of security events.', {
    retention: duration({ default: '400d', description: 'How long svc keeps an event.' }),
  }),
  webhooks: list(
    entry('A webhook endpoint.', {
      url: text({ format: 'web-url', description: 'The URL that receives the events.' }),
      secret: secret({ description: 'Signs each request.' }),
      events: list(text({ pattern: '^[a-z_.*]+$', expected: 'the name of an event, or *', description: 'An event.' }), {
        minItems: 1,
        description: 'The events to send. * means all events.',
      }),
    }),
    { default: [], description: 'Webhook endpoints.' },
  ),
  guard: section('The guard that authenticates requests.', {
    diagnose: nullable(
      flag({
        description:
          'Whether to log why authentication failed. By default true in development and false in production.',
      }),
    ),
    step_up: list(
      entry('One ability that requires a strong or recent sign-in.', {
        ability: text({
          pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$',
          expected: 'the name of an ability',
          description: 'The ability.',
        }),
        acr: nullable(choice(['1', '2', 'phr'], { description: 'The weakest class that is accepted.' })),
        max_age: nullable(duration({ description: 'How long ago the user may have signed in.' })),
      }),
      {
        default: [],
        description:
          'Abilities for which a JWT of a user needs a strong (`acr`) or recent (`max_age`) sign-in. Otherwise svc answers 401 with the challenge of RFC 9470.',
      },
    ),
  }),
  samples: nullable(
    flag({
      reload: 'restart',
      description: 'Whether to serve the sample routes. By default true in development and false in production.',
    }),
  ),
  test_page: nullable(
    flag({
      reload: 'restart',
      description: 'Whether to serve the browser test page. By default true in development. Not allowed in production.',
    }),
  ),
}

const TEXT_NAMES = { pattern: '^[a-z][a-z0-9_.-]*$', expected: 'lowercase letters, digits, _, . and -' }

const COLOR_NAMES = {
  pattern: `^(${themeColors.join('|')})(-dark)?$`,
  expected: `one of ${themeColors.join(', ')}, optionally followed by -dark`,
}

/** Rejects URLs and anything that could end a CSS declaration. */
const COLOR =
  '^(#[0-9A-Fa-f]{3,8}|[A-Za-z]+|(rgb|hsl)a?\\([\\w.,%\\s/+-]+\\)|(hwb|(ok)?(lab|lch))\\([\\w.,%\\s/+-]+\\))$'

/** Appearance and texts of pages and mails. */
export const appearanceSections = {
  templates: section('Directories with templates that replace the built-in ones, file by file.', {
    mail: nullable(text({ description: 'A directory of mail templates.' })),
    pages: nullable(text({ description: 'A directory of page templates.' })),
  }),
  theme: section('The appearance of the built-in pages.', {
    logo: nullable(text({ description: 'The URL of an image shown above forms.' })),
    colors: named(COLOR_NAMES, text({ pattern: COLOR, expected: 'a CSS colour', description: 'A CSS colour.' }), {
      description: 'Colours by name. Names that end in -dark apply in dark mode.',
    }),
    texts: named(TEXT_NAMES, text({ description: 'A text.' }), {
      description: 'Texts of the pages by name.',
    }),
  }),
}
