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

const tries = 200
const warmUp = 20

const doors: Readonly<Record<string, (email: string) => [path: string, body: object]>> = {
  login: (email) => ['/login', { email, password: `${password} wrong` }],
  'svc/token': (email) => ['/svc/token', { email, password: `${password} wrong`, device_name: 'd' }],
  'forgot-password': (email) => ['/forgot-password', { email }],
}

const medianOf = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0

/** Sends known and unknown addresses to each entry point, one at a time and in random order. */
export async function measureEqualTime(bench: Bench): Promise<EqualTime[]> {
  const url = await bench.database('equal_time', { users: 10_000, tokens: 100, sessions: 100 })
  await settlePostgresql(url, 1)
  const server = await bench.startSvc(url, { rate_limits: { mail: null, login_address: null } })
  const found: EqualTime[] = []
  let next = 0
  for (const [channel, requestOf] of Object.entries(doors)) {
    const times = { known: [] as number[], unknown: [] as number[] }
    for (let i = 0; i < tries + warmUp; i++) {
      const pair = ['known', 'unknown'] as const
      for (const kind of Math.random() < 0.5 ? pair : pair.toReversed()) {
        const [path, body] = requestOf(kind === 'known' ? emailOf(++next) : `unknown${++next}@example.com`)
        const begin = performance.now()
        const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json', 'sec-fetch-site': 'same-origin' },
          body: JSON.stringify(body),
        })
        await answer.arrayBuffer()
        const time = performance.now() - begin
        if (![200, 401, 422].includes(answer.status)) throw new Error(`${path} answered ${answer.status}.`)
        if (i >= warmUp) times[kind].push(time)
      }
    }
    const [known, unknown] = [medianOf(times.known), medianOf(times.unknown)]
    found.push({ channel, tries, known, unknown, ratio: Math.max(known, unknown) / Math.min(known, unknown) })
  }
  await server.stop()
  return found
}
