import type { Test } from 'tap'
import { Sealer } from '../../../src/features/audit-seal/sealer.ts'
import { HeadKeys } from '../../../src/features/audit-seal/signing-key.ts'
import { type Verified, verifyChain } from '../../../src/features/audit-seal/verify.ts'
import type { Head } from '../../../src/identity/event-heads.ts'
import { recordEvents, systemOrigin } from '../../../src/identity/events.ts'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'

type Facts = Parameters<typeof recordEvents>[2]
type Origin = Parameters<typeof recordEvents>[1]

export interface Sealed extends TestApp {
  sealer: Sealer
  /** Records an event, with an address and a browser. */
  event(facts: Facts, origin?: Partial<Origin>): Promise<void>
  /** Seals what is final after this time in milliseconds. */
  seal(after?: number): Promise<void>
  verify(head?: Head | null): Promise<Verified>
}

/** An app whose events the test seals. */
export async function buildSealed(t: Test, settings: Settings = {}): Promise<Sealed> {
  const svc = await buildTestApp(t, { settings })
  const { database, clock, config, app } = svc
  const sealer = new Sealer(app)
  return Object.assign(svc, {
    sealer,
    event: (facts: Facts, origin: Partial<Origin> = {}) => {
      const from = systemOrigin({ now: clock.now(), subscriber: app.subscriber })
      const request = { ipAddress: '203.0.113.7', userAgent: 'Browser', requestId: 'r1', actor: null }
      return recordEvents(database, { ...from, ...request, ...origin }, facts)
    },
    seal: async (after = 3 * 3_600_000) => {
      clock.advance(after)
      await sealer.run()
      clock.advance(60_000)
      await sealer.run()
    },
    verify: (head: Head | null = null) => verifyChain(database, new HeadKeys(config.current().app.secret), head),
  })
}
