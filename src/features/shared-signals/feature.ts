import type { Feature } from '../../contract/feature.ts'
import { SignalQueue } from './queue.ts'
import { deleteOldSignals } from './store.ts'

/** How long svc keeps a signal that its receiver does not accept, in milliseconds. */
const keepFor = 7 * 86_400_000

export const sharedSignalsFeature = {
  eventSubscriber: (parts) => new SignalQueue(parts),
  services: async (app) => (await import('./sender.ts')).addSignals(app),
  routes: [() => import('./routes.ts')],
  prune: (database, now) => deleteOldSignals(database, new Date(now - keepFor)),
} satisfies Feature
