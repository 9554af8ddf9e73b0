import type { LightMyRequestResponse } from 'fastify'
import type { LimitRule } from '../../../src/platform/limits/counters.ts'
import type { Settings, TestApp } from '../../support/app.ts'

/** A way to reach a limit. */
export interface Case {
  rates: Settings
  reach(svc: TestApp): Promise<LightMyRequestResponse>
  /** The maximum in `X-RateLimit-Limit`. Default: 1. */
  max?: number
}

type Send = () => Promise<LightMyRequestResponse>

export const once = '1/10m'

/** Sends the request up to the limit of one, and returns the next response. */
export async function twice(send: Send): Promise<LightMyRequestResponse> {
  await send()
  return send()
}

/** Fills a counter, as many earlier requests would. */
export async function fill(svc: TestApp, name: string, rule: LimitRule): Promise<void> {
  for (let n = 0; n < rule.max; n++) await svc.app.counters.hit(name, rule, svc.clock.now())
}

export async function guest(svc: TestApp) {
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  return browser
}

export const growing = (max: number, window: number): LimitRule => ({ max, window, block: 'growing' })
