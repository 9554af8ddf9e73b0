import { Type } from '../../json-schema.ts'
import { choice, entry, list, named, nullable, secret, secretUrl, section, text } from './kinds.ts'

/** The signals that svc sends, by the names of the configuration. */
const signalNames = [
  'session-revoked',
  'credential-change',
  'account-disabled',
  'account-enabled',
  'account-purged',
] as const

/** Services that learn of security events as signed tokens. */
export const signalSections = {
  shared_signals: section(
    'Services that learn of security events as signed tokens (OpenID Shared Signals Framework). docs/shared-signals.md describes them.',
    {
      streams: named(
        {
          pattern: '^[a-z][a-z0-9-]{0,62}$',
          expected: 'up to 63 lowercase letters, digits and -, beginning with a letter',
        },
        entry('A stream of signals to one receiver.', {
          audience: text({
            maxLength: 255,
            example: 'https://crm.example',
            description: 'The receiver, for the claim aud.',
          }),
          client_id: nullable(
            text({
              maxLength: 255,
              example: 'crm',
              description:
                'The client that may read the stream and ask for a verification, with the scope svc:signals. Without push, it polls the signals.',
            }),
          ),
          push: Type.Optional(
            entry('Where svc sends the signals (RFC 8935). Without it, the client polls them (RFC 8936).', {
              url: secretUrl({
                format: 'web-url',
                example: 'https://crm.example/signals',
                description: 'The URL that receives the signals.',
              }),
              authorization: Type.Optional(
                secret({
                  example: { file: '/run/secrets/crm-signals' },
                  description: 'The value of the header Authorization, such as Bearer and a token of the receiver.',
                }),
              ),
            }),
          ),
          events: list(choice(signalNames, { description: 'A signal.' }), {
            default: [...signalNames],
            minItems: 1,
            example: ['session-revoked', 'account-disabled'],
            description: 'The signals to send. By default all.',
          }),
          subject: choice(['iss_sub', 'email'], {
            default: 'iss_sub',
            description:
              'How a signal names the user: by the issuer and the sub of ID tokens, or by the email address. After the deletion of an account, always by iss_sub.',
          }),
        }),
        {
          entries: [{ value: { crm: { audience: 'https://crm.example', client_id: 'crm' } } }],
          description: 'The streams, by their ids.',
        },
      ),
    },
  ),
}
