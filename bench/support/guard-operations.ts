import type { Bench } from './bench.ts'
import { admittingNginx, guardingNginx } from './guard-nginx.ts'
import { guardedRequests, guardSessionRequests, guardSettings, guardTokenRequests } from './guard-requests.ts'
import { againstBare, type Comparison, databaseOf, type Sides, sampler, warmUp } from './operations.ts'
import type { Running } from './processes.ts'
import { settlePostgresql } from './rows.ts'

/** Active credentials: phantom tokens are cached, so the first request of each one signs. */
const credentials = 1_000

async function startGuard(bench: Bench, otherRules = 0): Promise<Running> {
  const url = await databaseOf(bench)
  await settlePostgresql(url, 1)
  return bench.startSvc(url, guardSettings(otherRules))
}

/** The bare route gets the same requests at its own path. */
const compared = (
  name: string,
  title: string,
  target: number,
  requests: (credentials: number, path?: string) => Buffer[],
): Comparison => ({
  name,
  title,
  to: 'bare Fastify route',
  target,
  prepare: async (bench) =>
    againstBare(bench, await startGuard(bench), requests(credentials), requests(credentials, '/api/user')),
})

/** Compares two loads and stops all their processes at the end. */
async function sides(bench: Bench, base: Running, op: Running, requests: Buffer[], others: Running[]): Promise<Sides> {
  const found = { base: sampler(bench, base, requests), op: sampler(bench, op, requests) }
  await found.base(warmUp)
  await found.op(warmUp)
  const stop = async () => {
    await Promise.all([base, op, ...others].map((running) => running.stop()))
  }
  return { ...found, server: op, stop }
}

/** The comparisons of forward authentication. */
export const forwardAuthComparisons: readonly Comparison[] = [
  compared('guard-token', 'Forward auth with an API token', 0.4, guardTokenRequests),
  compared('guard-session', 'Forward auth with a session', 0.38, guardSessionRequests),
  {
    name: 'guard-rules',
    title: 'Forward auth with 1,000 rules',
    to: 'one rule',
    target: 0.95,
    async prepare(bench) {
      const [one, many] = [await startGuard(bench), await startGuard(bench, 999)]
      return sides(bench, one, many, guardTokenRequests(credentials), [])
    },
  },
  {
    name: 'guard-nginx',
    title: 'nginx with svc as its guard',
    to: 'nginx with a constant 200 as its guard',
    target: 0.8,
    async prepare(bench) {
      const [svc, constant] = [await startGuard(bench), await admittingNginx(bench)]
      const [base, op] = [
        await guardingNginx(bench, `127.0.0.1:${constant.port}`),
        await guardingNginx(bench, `127.0.0.1:${svc.port}`),
      ]
      return sides(bench, base, op, guardedRequests(credentials), [svc, constant])
    },
  },
  {
    name: 'guard-nginx-limit',
    title: 'nginx with an empty Fastify route as its guard',
    to: 'nginx with a constant 200 as its guard',
    target: null,
    async prepare(bench) {
      const [bare, constant] = [await bench.startBare(), await admittingNginx(bench)]
      const [base, op] = [
        await guardingNginx(bench, `127.0.0.1:${constant.port}`),
        await guardingNginx(bench, `127.0.0.1:${bare.port}`, '/guard'),
      ]
      return sides(bench, base, op, guardedRequests(credentials), [bare, constant])
    },
  },
]
