import { recordEvents, systemOrigin } from '../../../src/identity/events.ts'
import type { TestApp } from '../../support/app.ts'

/** Records an event for each name. */
export async function record(svc: TestApp, ...names: string[]): Promise<void> {
  const origin = { ...systemOrigin({ now: svc.clock.now(), subscriber: svc.app.subscriber }), ipAddress: '192.0.2.7' }
  for (const name of names) {
    svc.clock.advance(10)
    await recordEvents(
      svc.database,
      { ...origin, now: svc.clock.now(), userAgent: `curl ${name}\n<34>1 forged \u2028\u202e"]` },
      { type: 'login', userId: null, data: { name } },
    )
  }
  svc.clock.advance(2_000)
}
