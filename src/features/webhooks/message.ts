import { eventTypes, messageType } from '../../platform/event-types.ts'
import { type Static, Type } from '../../platform/json-schema.ts'

const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const Subject = Type.Object(
  {
    id: Type.Integer({ description: 'Id of the user.' }),
    name: Type.String({ description: 'Full name.' }),
    email: Type.String({ description: 'Email address.' }),
    email_verified_at: nullableText('When the user verified the address (ISO 8601), or null.'),
    role: Type.String({ description: 'Role.' }),
    two_factor_enabled: Type.Boolean({ description: 'Whether two-factor authentication is on.' }),
    created_at: Type.String({ description: 'When the account was created (ISO 8601).' }),
    updated_at: Type.String({ description: 'When the account was last changed (ISO 8601).' }),
  },
  { description: 'The user at the time of the attempt.' },
)

/** Body of a webhook message. */
export const WebhookMessage = Type.Object(
  {
    type: Type.Unsafe<string>({
      type: 'string',
      enum: eventTypes.map(messageType),
      description: 'Type of the event.',
    }),
    timestamp: Type.String({ format: 'date-time', description: 'When the event occurred (ISO 8601, UTC).' }),
    data: Type.Object(
      {
        event_id: Type.String({ description: 'Id of the event in the audit log.' }),
        actor: nullableText(
          'Who acted: user:<id>, client:<client_id>, operator:<name> at the command line, system or anonymous.',
        ),
        outcome: Type.Union([Type.Literal('success'), Type.Literal('failure')], {
          description: 'failure if svc rejected the request, such as a wrong password.',
        }),
        reason: nullableText('Why svc rejected the request, or why an administrator acted, or null.'),
        user_id: Type.Union([Type.Integer(), Type.Null()], {
          description: 'Id of the user whom the event concerns, or null if it concerns no account.',
        }),
        user: Type.Union([Subject, Type.Null()], {
          description: 'The user at the time of the attempt, or null after the deletion of the account.',
        }),
        ip_address: nullableText(
          'IP address of the request, or null for commands and after the deletion of the account.',
        ),
        user_agent: nullableText('User-Agent of the request, or null as for ip_address.'),
        request_id: nullableText('Id of the request in the log of svc, or null.'),
        details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]), {
          description: 'More about the event, depending on its type. Receivers must ignore unknown members.',
        }),
      },
      { description: 'The event.' },
    ),
  },
  {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Webhook message of svc',
    description: 'Body of the requests that svc sends to the receivers in webhooks.',
  },
)

export type WebhookMessage = Static<typeof WebhookMessage>
