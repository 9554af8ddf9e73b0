import type { Feature } from '../../contract/feature.ts'

export const decisionHookFeature = {
  services: async (app) => void app.decorate('decisions', (await import('./ask-hooks.ts')).askHooks(app)),
  commands: async () => (await import('./commands.ts')).hookCommands,
  errors: {
    denied_by_policy: {
      status: [403, 422],
      meaning: 'A decision hook of the operator refused the registration, the sign-in or the token.',
      remedy: 'Show the message to the user. Sending the request again does not help.',
    },
    second_factor_required: {
      status: 422,
      meaning: 'A decision hook requires a second factor, and the user has none.',
      remedy: 'Let the user set up a second factor where the hook allows the sign-in, or ask an administrator.',
    },
  },
} satisfies Feature
