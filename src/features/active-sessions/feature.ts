import type { Feature } from '../../contract/feature.ts'
import { ownDevices, ownSessions } from './manage.ts'
import { listRemembered, listSessions } from './store.ts'

export const activeSessionsFeature = {
  routes: [() => import('./routes.ts'), () => import('./page-routes.ts')],
  accountPages: () => ['sessions'],
  accountStates: async (visit) => ({ sessions: (await ownSessions(visit)).length + (await ownDevices(visit)).length }),
  exportData: async ({ database, config, clock }, userId) => {
    const { lifetime, absolute_lifetime } = config.current().session
    const now = clock.now()
    const live = { seenAfter: new Date(now - lifetime), createdAfter: new Date(now - absolute_lifetime) }
    const sessions = await listSessions(database, userId, { ...live, now: new Date(now), current: '' })
    return {
      sessions: sessions.map(({ current: _, ...session }) => session),
      remembered_devices: await listRemembered(database, userId, { ...live, now: new Date(now) }),
    }
  },
} satisfies Feature
