import { performance } from 'node:perf_hooks'
import type { Bench } from './bench.ts'
import { password } from './requests.ts'
import { emailOf, settlePostgresql } from './rows.ts'

/** Median times in milliseconds for known and for unknown addresses. */
export interface EqualTime {
  channel: string
  tries: number
  known: number
  unknown: number
  /** The longer median divided by the shorter one. */
  ratio: number
}

/** The maximum ratio of the two medians. */
export const equalTimeTarget = 1.05

const warmUp = 20

/** A request without a password check is so short that the median of 200 tries varies by a tenth. */
const doors: Readonly<Record<string, { tries: number; body: (email: string) => object }>> = {
  login: { tries: 200, body: (email) => ({ email, password: `${password} wrong` }) },
  'svc/token': { tries: 200, body: (email) => ({ email, password: `${password} wrong`, device_name: 'd' }) },
  'forgot-password': { tries: 1_000, body: (email) => ({ email }) },
}

const medianOf = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0

/** Sends known and unknown addresses to each entry point, one at a time and in random order. */
export async function measureEqualTime(bench: Bench): Promise<EqualTime[]> {
  const url = await bench.database('equal_time', { users: 10_000, tokens: 100, sessions: 100 })
  await settlePostgresql(url, 1)
  const server = await bench.startSvc(url, { rate_limits: { mail: null, login_address: null } })
  const found: EqualTime[] = []
  let next = 0
  for (const [channel, { tries, body }] of Object.entries(doors)) {
    const times = { known: [] as number[], unknown: [] as number[] }
    for (let i = 0; i < tries + warmUp; i++) {
      const pair = ['known', 'unknown'] as const
      for (const kind of Math.random() < 0.5 ? pair : pair.toReversed()) {
        const email = kind === 'known' ? emailOf(++next) : `unknown${++next}@example.com`
        const begin = performance.now()
        const answer = await fetch(`http://127.0.0.1:${server.port}/${channel}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json', 'sec-fetch-site': 'same-origin' },
          body: JSON.stringify(body(email)),
        })
        await answer.arrayBuffer()
        const time = performance.now() - begin
        if (![200, 401, 422].includes(answer.status)) throw new Error(`/${channel} answered ${answer.status}.`)
        if (i >= warmUp) times[kind].push(time)
      }
    }
    const [known, unknown] = [medianOf(times.known), medianOf(times.unknown)]
    found.push({ channel, tries, known, unknown, ratio: Math.max(known, unknown) / Math.min(known, unknown) })
  }
  await server.stop()
  return found
}
