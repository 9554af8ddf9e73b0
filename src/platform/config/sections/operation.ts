import { guardSection } from './guard.ts'
import {
  choice,
  duration,
  entry,
  flag,
  integer,
  list,
  nullable,
  rate,
  secrets,
  secretUrl,
  section,
  text,
} from './kinds.ts'

/** Operation: limits, outbound requests, metrics, webhooks, and development aids. */
export const operationSections = {
  rate_limits: section('Rate limits: <count>/<duration>, or null for no limit. Requests over a limit get 429.', {
    login: rate({ default: '5/1m', description: 'Failed sign-ins to one account from one address.' }),
    login_address: rate({
      default: '100/10m',
      description:
        'Failed sign-ins from one address (IPv6: one /64) to all accounts, against attackers who try one password on many accounts. Does not apply to browsers that signed in to the account before. A loopback or private address outside server.trust_proxy has ten times this budget, and that of each other limit by address, because it is usually a proxy.',
    }),
    exempt: list(text({ format: 'cidr', description: 'An address range.' }), {
      default: [],
      description: 'Address ranges exempt from login_address, such as front-end servers that sign users in.',
    }),
    two_factor: rate({
      default: '5/1m',
      description: 'Failed second-factor codes for one account. A code has only a million values.',
    }),
    register: rate({ default: '10/1m', description: 'Registrations from one address, including successful ones.' }),
    mail: rate({
      default: '6/1m',
      description:
        'Requests that send mail, by one user or from one address, and mails to one mailbox (+tags count as the same mailbox). After that many mails in a day, the next mail to a mailbox or for a user waits 30 s, then twice as long each time, up to an hour. One address may cause ten times as many. Security notices are delayed and merged, not rejected. The mail of a registration counts only for its mailbox.',
    }),
    token: rate({
      default: '60/1m',
      description:
        'Failed client authentications by client and address, and provider codes from mobile apps by address.',
    }),
    authorization: rate({
      default: '1000/10m',
      description:
        'Stored authorization requests, pushed requests and device codes, from one address or by one signed-in user. svc stores each for up to two hours. While no user is signed in, a cookie holds the authorization request unless it is longer than 2 KB. Does not apply to confidential clients at /oauth/par and /oauth/device/code.',
    }),
    authorization_total: rate({
      default: '100000/1h',
      description:
        'Like authorization, but for each kind and client, over all addresses. Does not count signed-in users.',
    }),
    admin: rate({
      default: '600/1m',
      description: 'Requests to the admin API, by one user or client.',
    }),
    global: rate({
      default: null,
      description:
        'All requests from one address. Counted over all replicas with Redis, by each replica without. null means no limit, because a proxy in front may do this better.',
    }),
  }),
  outbound: section('Outbound requests to clients, identity providers, webhooks and hooks, and mail.', {
    allow_private: list(text({ format: 'cidr', description: 'An address range.' }), {
      default: [],
      description:
        'Private address ranges that outbound requests may reach. None by default, so that URLs from others cannot reach your internal network.',
    }),
    proxy: nullable(
      secretUrl({
        format: 'proxy-url',
        example: 'http://proxy.internal:3128',
        description:
          'The HTTP proxy for requests to identity providers, clients and webhooks, and for mail. svc uses CONNECT for https and mail. The proxy resolves the names, so svc checks private addresses only of direct calls and of addresses in URLs: let the proxy refuse your internal network. null calls directly.',
      }),
    ),
    no_proxy: list(
      text({
        pattern: '^\\S+$',
        expected: 'a host, .domain, an address or a range, without spaces',
        description: 'A host.',
      }),
      {
        default: [],
        example: ['.internal', '10.0.0.0/8'],
        description:
          'Hosts that svc calls without the proxy: a name with its subdomains, .name for its subdomains only, an address or a range of addresses, each with an optional port, or *. Calls to this machine never use the proxy. A range applies to URLs with an address, not to names.',
      },
    ),
  }),
  metrics: section('Metrics for Prometheus.', {
    port: nullable(
      integer({
        minimum: 1,
        maximum: 65_535,
        reload: 'restart',
        expected: 'a port number from 1 to 65535, or null',
        description:
          'The port of GET /metrics on server.host. It has no authentication: keep it off the internet. docs/observability.md lists the metrics and explains traces. null turns metrics off.',
      }),
    ),
  }),
  log: section('The log: one JSON object per line on standard output.', {
    level: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      default: 'info',
      description: 'The lowest level that svc logs. LOG_LEVEL overrides it.',
    }),
    requests: choice(['all', 'errors', 'none'], {
      default: 'all',
      description:
        'Which responses svc logs: all, those with status 400 or higher, or none. Security events are logged regardless.',
    }),
    probes: flag({
      default: false,
      description:
        'Whether svc also logs successful requests to /health/live and /health/ready. Failed ones are always logged as other requests are.',
    }),
  }),
  audit: section('The audit trail of security events.', {
    retention: duration({ default: '400d', description: 'How long svc keeps an event.' }),
    export: nullable(
      text({
        format: 'export-target',
        example: 'syslog+tls://logs.example.com:6514',
        description:
          'Where svc also writes each event: stdout:, file:<path> (JSON lines), or a syslog receiver (RFC 5424): syslog+tls://host:port, syslog+tcp://…, syslog+udp://… or syslog+unix:<path of a stream socket>. docs/observability.md explains the format and the guarantees.',
      }),
    ),
    decisions: section('Recorded decisions, for svc config:plan --replay.', {
      enabled: flag({
        default: false,
        description:
          'Whether svc records the decisions of the guard and of the token endpoint: the request without its query, body and credentials, the address, and what svc knew of the caller (id, role, groups, abilities, factors). svc encrypts them, and records at most 200 different ones per second and process.',
      }),
      keep: duration({ default: '24h', max: '30d', description: 'How long svc keeps them.' }),
      sample: integer({
        default: 1,
        minimum: 1,
        maximum: 1_000_000,
        description: 'svc records one of this many decisions. 1 records all.',
      }),
    }),
  }),
  webhooks: list(
    entry('A receiver of webhooks.', {
      url: secretUrl({
        format: 'web-url',
        example: 'https://hooks.example/svc',
        description: 'The URL that receives the events.',
      }),
      secret: secrets({
        example: { file: '/run/secrets/webhook' },
        description:
          'Signs each request, so that the receiver can verify the sender: whsec_ and base64, or other text. Of a list, each secret signs. To replace a secret, put the new one first, and remove the old one when the receiver accepts the new one.',
      }),
      events: list(
        text({
          pattern: '^([a-z_]+\\.)?[a-z_]*\\*?$',
          expected: 'the name of an event, or *',
          description: 'An event.',
        }),
        {
          minItems: 1,
          example: ['user.registered', 'user.password_*'],
          description: 'The events to send, such as user.login. * at the end includes all names that begin so.',
        },
      ),
    }),
    {
      default: [],
      description: 'Receivers of security events (Standard Webhooks). docs/webhooks.md lists the events.',
    },
  ),
  guard: guardSection,
  samples: nullable(
    flag({
      reload: 'restart',
      example: true,
      description:
        'Whether to serve the sample routes /server/{id}, /orders and /api/task. By default true in development and false in production.',
    }),
  ),
  test_page: nullable(
    flag({
      reload: 'restart',
      example: true,
      description:
        'Whether to serve the browser test page: /test-login, /test-user, /test-tokens. By default true in development. Not allowed in production.',
    }),
  ),
}
