import type { Feature } from '../../contract/feature.ts'
import { ownDevices, ownSessions } from './manage.ts'
import { listRemembered, listSessions, shownNow } from './store.ts'

export const activeSessionsFeature = {
  routes: [() => import('./routes.ts'), () => import('./page-routes.ts')],
  accountPages: () => ['sessions'],
  accountStates: async (visit) => ({ sessions: (await ownSessions(visit)).length + (await ownDevices(visit)).length }),
  exportData: async (app, userId) => {
    const sessions = await listSessions(app.database, userId, { ...shownNow(app), current: '' })
    return {
      sessions: sessions.map(({ current: _, ...session }) => session),
      remembered_devices: await listRemembered(app.database, userId, shownNow(app)),
    }
  },
} satisfies Feature
