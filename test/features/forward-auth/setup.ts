import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { replay } from '../../../src/cli/plan/replay.ts'
import { DecisionRecorder } from '../../../src/features/decision-log/recorder.ts'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'

/** A rule as the file has it. */
type Rule = Record<string, unknown>

/** A request as a client sent it to the proxy. */
interface Original {
  method?: string
  url?: string
  headers?: Record<string, string>
  /** Query of the guard, such as `?redirect=401`. */
  query?: string
  remoteAddress?: string
}

export interface Guarded extends TestApp {
  /** Asks as Traefik and Caddy do. */
  ask(original?: Original): Promise<LightMyRequestResponse>
  /** Asks as nginx does. */
  askAsNginx(original?: Original): Promise<LightMyRequestResponse>
}

export const api = 'https://api.example.com'

/**
 * Makes all recorded decisions again under the configuration that made them, and fails unless all verdicts are the same. svc
 * records no decision about a very long request.
 */
async function expectSameVerdicts(t: Test, { app, config, database }: TestApp): Promise<void> {
  if (!(app.decisionLog instanceof DecisionRecorder)) throw new Error('The app records no decisions.')
  await app.decisionLog.flush()
  const active = { config: config.current(), placeOf: () => null }
  const found = await replay(database, active.config.app.secret, { before: active, after: active, since: 0 })
  // An error would keep the app from closing.
  if (found.changed_before > 0 || found.flips.length > 0) t.fail('a replay has other verdicts', { found })
}

/** svc on https, behind a trusted proxy, with cookies for all of example.com. */
export async function buildGuarded(t: Test, rules: readonly Rule[], settings: Settings = {}): Promise<Guarded> {
  const { guard, ...others } = settings
  const svc = await buildTestApp(t, {
    settings: {
      app: { url: 'https://auth.example.com' },
      server: { trust_proxy: ['127.0.0.1'] },
      session: { domain: 'example.com' },
      stateful: ['app.example.com'],
      guard: { rules, ...Object(guard) },
      audit: { decisions: { enabled: true } },
      ...others,
    },
  })
  t.teardown(() => expectSameVerdicts(t, svc))
  const send = (query: string, headers: Record<string, string>, remoteAddress = '127.0.0.1') =>
    svc.app.inject({ method: 'GET', url: `/svc/guard${query}`, headers, remoteAddress })
  return Object.assign(svc, {
    ask: ({ method = 'GET', url = `${api}/orders/1`, headers = {}, query = '', remoteAddress }: Original = {}) => {
      const [, scheme = '', host = '', uri = ''] = /^(\w+):\/\/([^/]*)(.*)$/s.exec(url) ?? []
      const forwarded = {
        'x-forwarded-method': method,
        'x-forwarded-proto': scheme,
        'x-forwarded-host': host,
        'x-forwarded-uri': uri,
      }
      return send(query, { ...forwarded, ...headers }, remoteAddress)
    },
    askAsNginx: ({ method = 'GET', url = `${api}/orders/1`, headers = {}, query = '', remoteAddress }: Original = {}) =>
      send(query, { 'x-original-method': method, 'x-original-url': url, ...headers }, remoteAddress),
  })
}

/** Headers of a navigation of the whole tab. */
export const navigation = {
  accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-site': 'none',
}
