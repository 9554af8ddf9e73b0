import { Type } from '../../json-schema.ts'
import { choice, duration, entry, list, secrets, secretUrl, section, text } from './kinds.ts'

const endpoint = {
  url: secretUrl({
    format: 'web-url',
    example: 'https://policy.example.com/svc',
    description: 'The URL that answers. It can be the same for several hooks: the type in the body names the hook.',
  }),
  secret: secrets({
    example: { file: '/run/secrets/hooks' },
    description:
      'Signs each request: whsec_ and base64, or other text. Of a list, each secret signs, so that the receiver can change its secret.',
  }),
  timeout: duration({
    default: '2s',
    max: '10s',
    description: 'How long svc waits for the answer, the connection included.',
  }),
  on_failure: choice(['allow', 'deny'], {
    default: 'deny',
    description:
      'What svc does without a valid answer in time: go on, or refuse with 503 so that the client tries again.',
  }),
}

const decided = (what: string) => Type.Optional(entry(`Asks an HTTP service before ${what}.`, endpoint))

/** HTTP services that decide with svc. */
export const hookSections = {
  hooks: section(
    'HTTP services of yours that svc asks before it decides. They can refuse, but they never change who a user is. docs/hooks.md describes requests and answers.',
    {
      before_registration: decided(
        'a person creates an account: on a page, through the API, by invitation or through a provider. Not for accounts that administrators create',
      ),
      before_sign_in: decided(
        'a sign-in begins a session or issues an API token. svc asks when the user has proved everything that svc itself requires',
      ),
      before_token: Type.Optional(
        entry('Asks an HTTP service before svc issues a JWT access token, also for a refresh token.', {
          ...endpoint,
          claims: list(
            text({
              pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,100}$',
              expected: 'up to 100 printable ASCII characters without spaces, quotes and backslashes',
              description: 'The name of a claim.',
            }),
            {
              default: [],
              example: ['tier'],
              description:
                'The claims that an answer may add to access tokens and ID tokens. An answer with another claim is invalid.',
            },
          ),
        }),
      ),
    },
  ),
}
