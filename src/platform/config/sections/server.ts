import {
  choice,
  countOrAuto,
  duration,
  flag,
  integer,
  list,
  nullable,
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
      description:
        'The public address of svc: scheme, host and port, without a path. svc builds every link from it, never from a request. It is also the OAuth issuer, so choose it once.',
    }),
    frontend_url: nullable(
      text({
        format: 'origin',
        example: 'http://localhost:3000',
        description:
          'The origin of your single-page application, the target of mailed links and redirects. By default app.url, for an application on the same origin.',
      }),
    ),
    secret: secrets({
      default: [],
      reload: 'restart',
      example: { file: '/run/secrets/svc' },
      description:
        'Encrypts and signs cookies, tokens and stored keys: at least 32 random bytes (openssl rand -base64 32), or a list. The first secret encrypts and signs; all of them decrypt and verify. To replace a secret, put the new one first. If it is not set, svc creates one beside the database in development, and does not start in production.',
    }),
    security_contact: nullable(
      text({
        pattern: '^(https://|mailto:|tel:)[\\x21-\\x7E]+$',
        expected: 'an https, mailto or tel URI',
        example: 'mailto:security@example.com',
        description:
          'Where to report a vulnerability, for /.well-known/security.txt (RFC 9116). By default svc does not serve the file.',
      }),
    ),
    environment: nullable(
      choice(['development', 'production'], {
        reload: 'restart',
        description:
          'In production svc does not start with a missing or guessable secret, the test page, plain http, or mail that is only printed. Required unless app.url is on loopback (localhost), where null means development.',
      }),
    ),
  }),
  server: section('The listening socket.', {
    host: text({
      default: '::',
      reload: 'restart',
      description:
        'The address to listen on. :: means all addresses, also those of IPv4, and 0.0.0.0 those of IPv4 only. On a machine without IPv6, :: means 0.0.0.0. 127.0.0.1 accepts only local connections.',
    }),
    port: integer({
      default: 8000,
      minimum: 0,
      maximum: 65_535,
      reload: 'restart',
      expected: 'a port number from 0 to 65535',
      description: 'The port to listen on. 0 chooses a free port.',
    }),
    workers: countOrAuto({
      default: 1,
      minimum: 1,
      maximum: 128,
      reload: 'restart',
      description:
        'The number of processes that serve requests. With auto, as many as the container or the machine has CPUs. SQLite allows only 1, because only one process at a time can write to its file.',
    }),
    trust_proxy: list(text({ format: 'cidr', description: 'An address range.' }), {
      default: [],
      reload: 'restart',
      description:
        'Address ranges of the proxies in front. svc ignores forwarded headers from other addresses, because any client can send them.',
    }),
    drain: duration({
      default: '5s',
      zero: true,
      reload: 'restart',
      description:
        'How long svc keeps serving requests after SIGTERM while /health/ready returns 503, so that load balancers stop sending new ones. Use the time that your load balancer needs to notice, or 0s if it removes svc before SIGTERM. Skipped if /health/ready was not requested within the last minute.',
    }),
  }),
  database: section('The database.', {
    url: secretUrl({
      default: 'file:./data/svc.db',
      format: 'database-url',
      reload: 'restart',
      description:
        'file:<path> is embedded SQLite, for one node. postgresql://user:password@host:port/name is for several nodes; ?sslmode=verify-full&sslrootcert=/etc/svc/ca.pem encrypts the connection, and docs/deployment.md lists the other parameters. A new user or password needs no restart. The default needs no installation.',
    }),
    prepared_statements: flag({
      default: true,
      reload: 'restart',
      description:
        'Whether svc prepares its statements once for each connection to PostgreSQL. Use false behind a pooler that gives each transaction another connection and does not keep prepared statements: PgBouncer before 1.21 in transaction mode, or later with max_prepared_statements = 0, the default before 1.24. svc then needs more processor time of the database. No effect with SQLite.',
    }),
  }),
  redis: section('Redis, optional. Stores rate limits and short-lived OAuth state. Sessions stay in the database.', {
    url: nullable(
      secretUrl({
        format: 'redis-url',
        reload: 'restart',
        example: 'redis://localhost:6379',
        description:
          'The address, redis://… or rediss://…. By default svc uses the database instead of Redis. With sentinels, its host is the name of the primary in Redis Sentinel, without a port: redis://:password@mymaster. A new user or password needs no restart.',
      }),
    ),
    sentinels: list(
      text({ format: 'host-port', description: 'The address of a sentinel; the default port is 26379.' }),
      {
        default: [],
        reload: 'restart',
        example: ['sentinel-1.internal:26379', 'sentinel-2.internal:26379', 'sentinel-3.internal:26379'],
        description:
          'Addresses of Redis Sentinel, which says where the primary is. svc follows a failover. With rediss://…, the sentinels use TLS too. Set NODE_EXTRA_CA_CERTS for a private certificate authority. docs/high-availability.md has recommended settings.',
      },
    ),
    sentinel_password: nullable(
      secret({
        reload: 'restart',
        example: { file: '/run/secrets/sentinel' },
        description: 'The password of the sentinels, if they have one. That of Redis is in url.',
      }),
    ),
    timeout: duration({
      default: '1s',
      reload: 'restart',
      description:
        'The timeout of a command and of a connection attempt. After it, limits count in the database, and requests that need OAuth state in Redis get 503.',
    }),
  }),
}
