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

/** Where svc runs, what it listens on and what it stores into. */
export const serverSections = {
  app: section('The service itself.', {
    name: text({
      default: 'svc',
      maxLength: 100,
      description: 'The name that pages, mails and authenticator apps show.',
    }),
    url: text({
      default: 'http://localhost:8000',
      format: 'origin',
      reload: 'restart',
      description:
        'The address that browsers and clients reach svc under, and the OAuth issuer: an origin without a path.',
    }),
    frontend_url: nullable(
      text({ format: 'origin', description: 'The origin of the single-page application. By default app.url.' }),
    ),
    secret: secrets({
      reload: 'restart',
      description:
        'At least 32 bytes, or a list of such: the first encrypts and signs, all decrypt and verify. By default development makes one in the data directory; production refuses to start.',
    }),
    environment: nullable(
      choice(['development', 'production'], {
        reload: 'restart',
        description:
          'In production svc refuses to start on anything unfit for it. Required unless app.url is on loopback, where null means development.',
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
      description: 'The port to listen on; 0 takes any free one.',
    }),
    trust_proxy: list(text({ format: 'cidr', description: 'An address range.' }), {
      default: [],
      reload: 'restart',
      description: 'Address ranges of the proxies whose forwarded headers count.',
    }),
    drain: duration({
      default: '5s',
      zero: true,
      reload: 'restart',
      description: 'How long after SIGTERM everything is still served while /health/ready says no.',
    }),
  }),
  database: section('Where everything is stored.', {
    url: secretUrl({
      default: 'file:./data/svc.db',
      format: 'database-url',
      reload: 'restart',
      description: 'file:<path> for the embedded database, or postgresql://user:password@host:port/name.',
    }),
  }),
  redis: section('An optional store for short-lived state.', {
    url: nullable(
      secretUrl({
        format: 'redis-url',
        reload: 'restart',
        description: 'redis://… for rate limits and short-lived OAuth state. Sessions stay in the database.',
      }),
    ),
  }),
}

/** What watches over the service, and what is there for development only. */
export const operationSections = {
  rate_limits: section('How often something may be tried: <count>/<duration>, or null for no limit.', {
    login: rate({ default: '5/1m', description: 'Failed sign-ins of one account from one address.' }),
    login_address: rate({
      default: '100/10m',
      description:
        'Failed sign-ins from one address over all accounts; not for browsers that signed in to the account before.',
    }),
    exempt: list(text({ format: 'cidr', description: 'An address range.' }), {
      default: [],
      description:
        'Addresses to which login_address does not apply: front-end servers that sign users in on their behalf.',
    }),
    two_factor: rate({ default: '5/1m', description: 'Failed second factors of one account.' }),
    register: rate({ default: '10/1m', description: 'Registrations from one address, also successful ones.' }),
    mail: rate({
      default: '6/1m',
      description:
        'Requests for mail by one user or from one address, and mails to one mailbox. Beyond it the wait grows to an hour; notices are merged instead of refused.',
    }),
    token: rate({
      default: '60/1m',
      description: 'Failed client authentications, by client and address; provider codes of mobile apps, by address.',
    }),
    authorization: rate({
      default: '1000/10m',
      description:
        'Authorization requests, pushed requests and device codes that wait for a user, from one address or of one signed-in user. Confidential clients are not limited.',
    }),
    authorization_total: rate({
      default: '100000/1h',
      description: 'The same, of all addresses together and without signed-in users.',
    }),
    global: rate({ default: null, description: 'Requests of any kind from one address.' }),
  }),
  outbound: section('Calls that svc makes to others.', {
    allow_private: list(text({ format: 'cidr', description: 'An address range.' }), {
      default: [],
      description: 'Address ranges besides public ones that outbound calls may reach.',
    }),
  }),
  metrics: section('Figures for Prometheus.', {
    port: nullable(
      integer({
        minimum: 1,
        maximum: 65_535,
        reload: 'restart',
        expected: 'a port number from 1 to 65535, or null',
        description: 'The port that serves GET /metrics on server.host; null serves none.',
      }),
    ),
  }),
  audit: section('The record of security events.', {
    retention: duration({ default: '400d', description: 'How long an event is kept.' }),
  }),
  webhooks: list(
    entry('One receiver of events.', {
      url: text({ format: 'web-url', description: 'Where events are sent to.' }),
      secret: secret({ description: 'Signs each delivery.' }),
      events: list(text({ pattern: '^[a-z_.*]+$', expected: 'the name of an event, or *', description: 'An event.' }), {
        minItems: 1,
        description: 'The events to send; * stands for all.',
      }),
    }),
    { default: [], description: 'Receivers of events.' },
  ),
  guard: section('The guard that authenticates requests.', {
    diagnose: nullable(
      flag({
        description:
          'Whether the log says why a request was let in as nobody. By default true in development, false in production.',
      }),
    ),
  }),
  samples: nullable(
    flag({
      reload: 'restart',
      description: 'Whether the sample routes exist. By default true in development, false in production.',
    }),
  ),
  test_page: nullable(
    flag({
      reload: 'restart',
      description: 'Whether the browser test page exists. By default true in development; production refuses true.',
    }),
  ),
}

const TEXT_NAMES = { pattern: '^[a-z][a-z0-9_.-]*$', expected: 'small letters, digits, _, . and -' }

const COLOR_NAMES = {
  pattern: `^(${themeColors.join('|')})(-dark)?$`,
  expected: `one of ${themeColors.join(', ')}, perhaps with -dark behind it`,
}

/** Nothing that could end a declaration, and no address. */
const COLOR =
  '^(#[0-9A-Fa-f]{3,8}|[A-Za-z]+|(rgb|hsl)a?\\([\\w.,%\\s/+-]+\\)|(hwb|(ok)?(lab|lch))\\([\\w.,%\\s/+-]+\\))$'

/** The looks and the wording of pages and mails. */
export const appearanceSections = {
  templates: section('Directories that override built-in templates file by file.', {
    mail: nullable(text({ description: 'A directory of mail templates.' })),
    pages: nullable(text({ description: 'A directory of page templates.' })),
  }),
  theme: section('The looks of the built-in pages.', {
    logo: nullable(text({ description: 'The URL of a picture shown above forms.' })),
    colors: named(COLOR_NAMES, text({ pattern: COLOR, expected: 'a CSS colour', description: 'A CSS colour.' }), {
      description: 'Colours by name; a name with -dark behind it is for dark mode.',
    }),
    texts: named(TEXT_NAMES, text({ description: 'A text.' }), {
      description: 'Texts of the pages by name.',
    }),
  }),
}
