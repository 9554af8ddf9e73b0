import type { Feature } from '../../contract/feature.ts'

export const webhookFeature = {
  services: async (app) => (await import('./sender.ts')).addWebhooks(app),
  commands: async () => (await import('./commands.ts')).webhookCommands,
} satisfies Feature
