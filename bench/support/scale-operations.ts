import type { Bench } from './bench.ts'
import { guardSessionRequests, guardSettings, guardTokenRequests } from './guard-requests.ts'
import type { NextRequest } from './load.ts'
import {
  clientCredentialsRequests,
  introspectionRequests,
  jwtRequests,
  oauthSettings,
  refreshing,
  userTokens,
} from './oauth-requests.ts'
import { type Sample, sampler, warmUp } from './operations.ts'
import { type Postgresql, withClient } from './postgresql.ts'
import { connectionTime, type Running } from './processes.ts'
import { median, rounded } from './report.ts'
import { bearerRequests, loginRequests, password, sessionLoginRequests, sessionRequests } from './requests.ts'
import { tokenSecret } from './rows.ts'
import type { ScaleAmounts } from './scale-rows.ts'

/** Active credentials on both sides, spread over the whole table. */
const active = 10_000
/** The guard and introspection use the first credentials. */
const firstUsed = 1_000
const owners = 100
const hashingConnections = 16

type LoadRequests = readonly Buffer[] | NextRequest

interface ScaleOperation {
  name: string
  title: string
  settings?: Record<string, unknown>
  connections?: number
  /** Whether svc records the use of the credentials. */
  isRecorded?: true
  requests(amounts: ScaleAmounts, server: Running): LoadRequests | Promise<LoadRequests>
}

/** An earlier run may have filled the sessions. */
const session = { lifetime: '30d' }
export const scaleSettings = { ...oauthSettings('ES256'), session }
const guarding = { ...guardSettings(), session: { ...guardSettings().session, ...session } }

const apiTokens = Array.from({ length: firstUsed }, (_, i) => `${i + 1}|${tokenSecret(i + 1)}`)
const accessTokens = async ({ port }: Running) => (await userTokens(port, owners, password)).access

/** The operations of the benchmark that use the database. */
const operations: readonly ScaleOperation[] = [
  {
    name: 'bearer',
    title: 'Bearer check, 10,000 tokens of the whole table',
    isRecorded: true,
    requests: ({ tokens }) => bearerRequests(tokens, tokens / active),
  },
  {
    name: 'session',
    title: 'Session check, 10,000 sessions of the whole table',
    isRecorded: true,
    requests: ({ sessions }) => sessionRequests(sessions, sessions / active),
  },
  {
    name: 'token-login',
    title: 'Sign-in for an API token',
    connections: hashingConnections,
    requests: () => loginRequests(active),
  },
  {
    name: 'session-login',
    title: 'Sign-in for a session',
    connections: hashingConnections,
    requests: () => sessionLoginRequests(active),
  },
  {
    name: 'guard-token',
    title: 'Forward auth with an API token',
    settings: guarding,
    isRecorded: true,
    requests: () => guardTokenRequests(firstUsed),
  },
  {
    name: 'guard-session',
    title: 'Forward auth with a session',
    settings: guarding,
    isRecorded: true,
    requests: () => guardSessionRequests(firstUsed),
  },
  { name: 'client-credentials', title: 'Client credentials, ES256', requests: () => clientCredentialsRequests },
  {
    name: 'introspection-token',
    title: 'Introspection of an API token',
    isRecorded: true,
    requests: () => introspectionRequests(apiTokens),
  },
  {
    name: 'introspection',
    title: 'Introspection of a JWT',
    requests: async (_, server) => introspectionRequests(await accessTokens(server)),
  },
  {
    name: 'userinfo',
    title: 'UserInfo',
    requests: async (_, server) => jwtRequests('/oauth/userinfo', await accessTokens(server)),
  },
  {
    name: 'jwt-bearer',
    title: 'JWT as bearer on /api/user',
    requests: async (_, server) => jwtRequests('/api/user', await accessTokens(server)),
  },
  {
    name: 'refresh',
    title: 'Refresh with rotation',
    // Each sample uses a new token for each connection.
    connections: 32,
    requests: async (_, { port }) => refreshing((await userTokens(port, 2 * owners, password, 'orders:read')).refresh),
  },
]

export const scaleOperations = operations.map(({ name }) => name)

/** An operation on small and large tables: medians of samples that alternate. */
export interface ScaleResult {
  name: string
  title: string
  /** Requests per processor time of svc and PostgreSQL on large tables, compared with small ones: median of the rounds. */
  processorRatio: number
  /** Requests per second on large tables, compared with small ones: median of the rounds. */
  rateRatio: number
  small: ScaleFigures
  large: ScaleFigures
}

interface ScaleFigures {
  rate: number
  p99: number
  /** Processor time per request in microseconds. */
  svc: number
  postgresql: number
}

/** The small or the large database. */
export interface ScaleSide {
  url: string
  amounts: ScaleAmounts
}

/** Spreads the last uses of the active credentials over the last minute, as on a server that has run for a while. */
async function settle({ url, amounts: { tokens, sessions } }: ScaleSide): Promise<void> {
  const lately = "(now() AT TIME ZONE 'utc') - random() * interval '60 seconds'"
  const numbers = 'SELECT i * $1::int AS n FROM generate_series(1, $2::int) i UNION SELECT generate_series(1, $3::int)'
  await withClient(url, async (client) => {
    await client.query(
      `UPDATE personal_access_tokens SET last_used_at = ${lately} WHERE id IN (SELECT n FROM (${numbers}) used)`,
      [tokens / active, active, firstUsed],
    )
    await client.query(
      `UPDATE sessions SET last_seen_at = ${lately}
       WHERE public_id IN (SELECT 'public' || lpad(n::text, 37, '0') FROM (${numbers}) used)`,
      [sessions / active, active, firstUsed],
    )
    await client.query('VACUUM ANALYZE personal_access_tokens, sessions')
    await client.query('CHECKPOINT')
  })
}

async function sideOf(bench: Bench, postgresql: Postgresql, { url, amounts }: ScaleSide, operation: ScaleOperation) {
  if (operation.isRecorded) await settle({ url, amounts })
  const server = await bench.startSvc(url, operation.settings ?? scaleSettings)
  const requests = await operation.requests(amounts, server)
  const take = sampler(bench, server, requests, operation.connections)
  const time = () => connectionTime(postgresql.pid, new URL(url).pathname.slice(1))
  const sample = async (seconds: number): Promise<Sample> => {
    const [before, begin] = [time(), performance.now()]
    const found = await take(seconds)
    const requests = (found.rate * (performance.now() - begin)) / 1000
    return { ...found, database: (time() - before) / requests }
  }
  await sample(warmUp)
  return { server, sample }
}

const figuresOf = (samples: readonly Sample[]): ScaleFigures => {
  const of = (pick: (sample: Sample) => number, digits: number) => rounded(median(samples.map(pick)), digits)
  return {
    rate: of(({ rate }) => rate, 0),
    p99: of(({ p99 }) => p99, 2),
    svc: of(({ processor }) => processor, 1),
    postgresql: of(({ database = 0 }) => database, 1),
  }
}

const speed = ({ processor, database = 0 }: Sample): number => 1 / (processor + database)

/** Measures an operation on both databases in turns. */
export async function compareSizes(
  bench: Bench,
  postgresql: Postgresql,
  name: string,
  sides: { small: ScaleSide; large: ScaleSide },
): Promise<ScaleResult> {
  const { seconds, rounds } = bench.options
  const operation = operations.find((each) => each.name === name)
  if (!operation) throw new Error(`Unknown operation: ${name}.`)
  const small = await sideOf(bench, postgresql, sides.small, operation)
  const large = await sideOf(bench, postgresql, sides.large, operation)
  const turns: { small: Sample; large: Sample }[] = []
  for (let round = 0; round < rounds; round++) {
    turns.push({ small: await small.sample(seconds), large: await large.sample(seconds) })
  }
  await Promise.all([small.server.stop(), large.server.stop()])
  const ratioOf = (pick: (sample: Sample) => number) =>
    rounded(median(turns.map((turn) => pick(turn.large) / pick(turn.small))), 2)
  return {
    name,
    title: operation.title,
    processorRatio: ratioOf(speed),
    rateRatio: ratioOf(({ rate }) => rate),
    small: figuresOf(turns.map((turn) => turn.small)),
    large: figuresOf(turns.map((turn) => turn.large)),
  }
}
