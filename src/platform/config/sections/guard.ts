import { isHostPattern } from '../../guard-rules/host-pattern.ts'
import { isPathPattern } from '../../guard-rules/path-pattern.ts'
import type { NamedFormat } from '../formats.ts'
import { choice, duration, entry, flag, integer, list, nullable, section, text } from './kinds.ts'

const hostFormat: NamedFormat = {
  name: 'guard-host',
  expected: 'a host such as api.example.com or *.example.com, with an optional port',
  matches: isHostPattern,
}

const pathFormat: NamedFormat = {
  name: 'guard-path',
  expected: 'a path such as /orders, /orders/:id or /orders/*, without encoded characters',
  matches: isPathPattern,
}

/** Formats that only the guard uses. */
export const guardFormats = [hostFormat, pathFormat]

const ability = text({
  pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$',
  expected: 'the name of an ability',
  example: 'orders:read',
  description: 'An ability.',
})

const groupName = text({ maxLength: 255, description: 'A group.' })

const stepUp = entry('One ability that requires a strong or recent sign-in.', {
  ability: { ...ability, examples: ['server:update'], description: 'The ability.' },
  acr: nullable(
    choice(['1', '2', 'phr'], { example: '2', description: 'The weakest authentication class that is accepted.' }),
  ),
  max_age: nullable(duration({ example: '15m', description: 'How long ago the user may have signed in.' })),
})

const rule = entry(
  'One rule. It matches a request by hosts, paths, methods and networks; the other keys are what it requires.',
  {
    name: nullable(
      text({
        pattern: '^[a-z0-9][a-z0-9-]*$',
        expected: 'lowercase letters, digits and -',
        example: 'orders',
        description: 'A name, with which a proxy can select this rule: /svc/guard?rule=orders.',
      }),
    ),
    hosts: nullable(
      list(text({ format: hostFormat, description: 'A host. *. at the beginning matches one label.' }), {
        minItems: 1,
        example: ['api.example.com'],
        description: 'The hosts that clients ask for. By default all.',
      }),
    ),
    paths: nullable(
      list(
        text({
          format: pathFormat,
          description:
            'An exact path. :id matches one segment; /* at the end matches everything below, and the path itself.',
        }),
        { minItems: 1, example: ['/orders/*'], description: 'The paths that clients ask for. By default all.' },
      ),
    ),
    methods: nullable(
      list(
        text({ pattern: '^[A-Z]{1,32}$', expected: 'a method in capitals, such as GET', description: 'A method.' }),
        {
          minItems: 1,
          example: ['GET', 'HEAD'],
          description: 'The methods of the requests. By default all.',
        },
      ),
    ),
    networks: nullable(
      list(text({ format: 'cidr', description: 'An address range.' }), {
        minItems: 1,
        example: ['10.0.0.0/8'],
        description:
          'The address ranges of the clients. By default all. Requires that server.trust_proxy lists the proxies.',
      }),
    ),
    access: choice(['authenticated', 'public'], {
      default: 'authenticated',
      description: 'public lets every request pass, with or without a credential.',
    }),
    credentials: nullable(
      list(choice(['session', 'token', 'jwt'], { description: 'A kind of credential.' }), {
        minItems: 1,
        example: ['session', 'token', 'jwt'],
        description:
          'The accepted credentials: browser sessions, API tokens, access tokens of the OAuth server. By default all.',
      }),
    ),
    abilities: nullable(
      list(ability, {
        minItems: 1,
        example: ['orders:read'],
        description: 'Abilities that the credential needs, all of them.',
      }),
    ),
    any_ability: nullable(
      list(ability, {
        minItems: 1,
        example: ['orders:write', 'orders:admin'],
        description: 'Abilities. The credential needs at least one of them.',
      }),
    ),
    roles: nullable(
      list(text({ maxLength: 255, description: 'A role.' }), {
        minItems: 1,
        example: ['staff'],
        description: 'The roles of the users who may pass.',
      }),
    ),
    groups: nullable(
      list(groupName, {
        minItems: 1,
        example: ['wiki-editors', 'staff'],
        description: 'Groups of the users who may pass. One of them is enough.',
      }),
    ),
    all_groups: nullable(
      list(groupName, {
        minItems: 1,
        example: ['staff', 'on-call'],
        description: 'Groups that the user must be in, all of them.',
      }),
    ),
    verified: flag({
      default: false,
      description:
        'Whether the email address of the user must be verified. registration.require_verified_email requires this for all rules.',
    }),
    second_factor: flag({
      default: false,
      description: 'Whether the user must have used a second factor, or a passkey, in the current session.',
    }),
    bound: flag({
      default: false,
      description:
        'Whether the credential must be bound to a key: a session of session.bound, or a token with DPoP. Copies of it are useless.',
    }),
    confirmed_within: nullable(
      duration({
        example: '3h',
        description: 'How long ago the user may have confirmed the password in the current session.',
      }),
    ),
    audience: nullable(
      text({
        example: 'orders',
        description: 'The name of an API in apis. The service then receives an access token for this API.',
      }),
    ),
  },
)

const headerName = (name: string, description: string) =>
  nullable(
    text({
      default: name,
      pattern: '^[A-Za-z][A-Za-z0-9-]*$',
      expected: 'a header name: letters, digits and -',
      description,
    }),
    name,
  )

/** What the guard requires, for svc itself and for the services behind the same proxy. */
export const guardSection = section('The guard that authenticates requests.', {
  port: nullable(
    integer({
      minimum: 1,
      maximum: 65_535,
      reload: 'restart',
      example: 8001,
      expected: 'a port number from 1 to 65535, or null',
      description:
        'A separate port on server.host for the guard of other services. Let only your proxy reach it: a client could otherwise ask the guard for headers and tokens that only your services should see. svc serves /svc/guard and /health/* on this port, and answers 404 at /svc/guard on server.port. null serves the guard on server.port.',
    }),
  ),
  diagnose: nullable(
    flag({
      example: true,
      description:
        'Whether svc explains rejected requests: the log says why authentication or a CSRF check failed, or which origin was refused, and what to change, and GET /svc/diagnose tells it to the calling page. Useful in development, noisy under attack. By default true in development and false in production.',
    }),
  ),
  step_up: list(stepUp, {
    default: [],
    description:
      'Abilities for which a JWT of a user needs a strong (acr) or recent (max_age) sign-in. Otherwise svc answers 401 with the challenge of RFC 9470, and the client repeats the authorization with these values. Sessions, API tokens and machine tokens are not affected.',
  }),
  default: choice(['deny', 'authenticated', 'public'], {
    default: 'deny',
    description: 'What applies to a request to another service that no rule matches.',
  }),
  rules: list(rule, {
    default: [],
    description:
      'Who may send requests to the services behind your proxy. The proxy asks /svc/guard about each request, and the first rule that matches decides. svc guard:test shows the decision.',
  }),
  remote_user: choice(['id', 'email'], {
    default: 'id',
    description: 'What the user header contains. email is empty for users without a verified address.',
  }),
  groups_separator: choice([',', '|', ';', ' '], {
    default: ',',
    description:
      'What separates groups in their header. Grafana, Nextcloud and most services behind Authelia expect a comma; those behind authentik a |.',
  }),
  headers: section('The headers that a service receives about the caller. null omits a header.', {
    user: headerName('Remote-User', 'The user, as remote_user says.'),
    email: headerName('Remote-Email', 'The email address, if it is verified.'),
    name: headerName('Remote-Name', 'The name of the user, percent-encoded where it is not ASCII.'),
    groups: headerName('Remote-Groups', 'The groups of the user, with groups_separator between them.'),
    user_id: headerName('Svc-User-Id', 'The id of the user.'),
    abilities: headerName('Svc-Abilities', 'The abilities of the credential, separated by spaces.'),
    actor: headerName('Svc-Actor', 'The agent that acts for the user, with the token of an exchange.'),
    credential: headerName('Svc-Credential', 'The kind and the id of the credential, such as token 17.'),
  }),
})
