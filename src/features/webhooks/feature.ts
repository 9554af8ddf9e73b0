import type { Feature } from '../../contract/feature.ts'
import { WebhookQueue } from './queue.ts'

export const webhookFeature = {
  eventSubscriber: (parts) => new WebhookQueue(parts),
  services: async (app) => (await import('./sender.ts')).addWebhooks(app),
  commands: async () => (await import('./commands.ts')).webhookCommands,
} satisfies Feature
