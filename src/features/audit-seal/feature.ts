import type { Feature } from '../../contract/feature.ts'

/** How often svc seals events, and deletes those from before `audit.retention`, in milliseconds. */
const [sealEvery, retainEvery] = [60_000, 86_400_000]

export const auditSealFeature = {
  commands: async () => (await import('./commands.ts')).sealCommands,
  services: async (app) => {
    const { Sealer } = await import('./sealer.ts')
    app.decorate('sealer', new Sealer(app))
  },
  jobs: ({ sealer, config, clock }) => [
    { name: 'seal-events', every: sealEvery, run: async () => void (await sealer.run()) },
    {
      name: 'prune-events',
      every: retainEvery,
      run: () => sealer.retain(Math.max(0, clock.now() - config.current().audit.retention)),
    },
  ],
} satisfies Feature
