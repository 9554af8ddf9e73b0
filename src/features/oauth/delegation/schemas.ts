import { Type } from '../../../platform/json-schema.ts'

const date = (description: string) => Type.String({ format: 'date-time', description })

export const Agent = Type.Object(
  {
    client: Type.Object(
      {
        id: Type.String({ description: 'The client id.' }),
        name: Type.String({ description: 'The name for people.' }),
      },
      { title: 'AgentClient', description: 'The agent.' },
    ),
    scopes: Type.Array(Type.String(), { description: 'The scopes of its last token.' }),
    created_at: date('When it first acted for the user.'),
    last_used_at: date('When it last got a token.'),
    ended_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the user ended it; null if it may act.',
    }),
  },
  { title: 'Agent', description: 'A client that acts for the user by token exchange.' },
)

export const AgentParams = Type.Object({
  client_id: Type.String({ minLength: 1, maxLength: 255, description: 'The client id of the agent.' }),
})
