import type { Feature } from '../../contract/feature.ts'
import { deleteBatches } from './store.ts'

/** How often svc deletes recorded decisions that are too old, in milliseconds. */
const pruneEvery = 3_600_000

export const decisionLogFeature = {
  services: async (app) => {
    const { DecisionRecorder } = await import('./recorder.ts')
    const recorder = new DecisionRecorder(app)
    app.decorate('decisionLog', recorder)
    app.addHook('onClose', () => recorder.close())
  },
  jobs: ({ database, config, clock }) => [
    {
      name: 'prune-decisions',
      every: pruneEvery,
      run: () => deleteBatches(database, clock.now() - config.current().audit.decisions.keep),
    },
  ],
} satisfies Feature
