import type { Bench } from './bench.ts'
import { codeFlows, visited } from './code-flows.ts'
import {
  benchClients,
  clientCredentialsRequests,
  introspectionListRequests,
  introspectionRequests,
  jwtRequests,
  oauthSettings,
  refreshing,
  userTokens,
} from './oauth-requests.ts'
import {
  againstBare,
  type Comparison,
  databaseOf,
  type LoadRequests,
  type Sides,
  sampler,
  warmUp,
} from './operations.ts'
import type { Running } from './processes.ts'
import { bearerRequests, password, sessionCookies } from './requests.ts'
import { settlePostgresql, tokenSecret } from './rows.ts'

const bare = 'bare Fastify route'

/** The number of users with tokens. Each token costs a password check. */
const owners = 200

async function startOauth(bench: Bench, algorithm: 'ES256' | 'RS256' = 'ES256', workers = 1): Promise<Running> {
  const url = await databaseOf(bench)
  await settlePostgresql(url, 1)
  return bench.startSvc(url, { ...oauthSettings(algorithm), server: { workers } })
}

/** Compares an endpoint for programs with the bare route. */
const compared = (
  name: string,
  title: string,
  target: number,
  requestsOf: (server: Running) => Promise<LoadRequests> | LoadRequests,
  algorithm: 'ES256' | 'RS256' = 'ES256',
): Comparison => ({
  name,
  title,
  to: bare,
  target,
  async prepare(bench): Promise<Sides> {
    const server = await startOauth(bench, algorithm)
    return againstBare(bench, server, await requestsOf(server), bearerRequests(1_000))
  },
})

const apiTokens = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i + 1}|${tokenSecret(i + 1)}`)

const accessTokens = async ({ port }: Running) => (await userTokens(port, owners, password)).access

const refreshTokens = async ({ port }: Running) => (await userTokens(port, 2 * owners, password, 'orders:read')).refresh

/** Code flows of browsers that have used the application before. */
async function returningFlows({ port }: Running): Promise<LoadRequests> {
  const cookies = await Promise.all(sessionCookies(owners).map((cookie) => visited(port, benchClients.web, cookie)))
  const nextCookie = () => cookies[Math.floor(Math.random() * cookies.length)] ?? ''
  return { next: codeFlows(benchClients.web, nextCookie), steps: 2 }
}

/** The comparisons of the OAuth server. */
export const oauthComparisons: readonly Comparison[] = [
  compared('client-credentials', 'Client credentials, ES256', 0.15, () => clientCredentialsRequests),
  compared('client-credentials-rs256', 'Client credentials, RS256', 0.065, () => clientCredentialsRequests, 'RS256'),
  compared('introspection', 'Introspection of a JWT', 0.2, async (server) =>
    introspectionRequests(await accessTokens(server)),
  ),
  compared('introspection-token', 'Introspection of an API token', 0.25, () => introspectionRequests(apiTokens(1_000))),
  compared('introspection-list', 'Introspection of 20 API tokens', 0.05, () =>
    introspectionListRequests(apiTokens(1_000), 20),
  ),
  compared('userinfo', 'UserInfo', 0.25, async (server) => jwtRequests('/oauth/userinfo', await accessTokens(server))),
  compared('refresh', 'Refresh with rotation', 0.1, async (server) => refreshing(await refreshTokens(server))),
  compared('code-flow', 'Authorization code flow with a session', 0.02, returningFlows),
  compared('jwt-bearer', 'JWT as bearer on /api/user', 0.5, async (server) =>
    jwtRequests('/api/user', await accessTokens(server)),
  ),
  {
    name: 'library',
    title: 'Client credentials, ES256',
    to: 'the OAuth library alone, store in memory',
    target: 0.9,
    async prepare(bench) {
      const server = await startOauth(bench)
      const library = await bench.startLibrary()
      const base = sampler(bench, library, clientCredentialsRequests)
      const op = sampler(bench, server, clientCredentialsRequests)
      await base(warmUp)
      await op(warmUp)
      const stop = async () => {
        await Promise.all([server.stop(), library.stop()])
      }
      return { base, op, server, stop }
    },
  },
  {
    name: 'library-refresh',
    title: 'Refresh with rotation',
    to: 'the OAuth library alone, store in the same PostgreSQL',
    target: 1,
    async prepare(bench) {
      const server = await startOauth(bench)
      const library = await bench.startLibrary(await (await bench.postgresql()).create('library'))
      const answer = await fetch(`http://127.0.0.1:${library.port}/tokens?count=${2 * owners}`)
      const pairs = (await answer.json()) as { refresh: string }[]
      const base = sampler(bench, library, refreshing(pairs.map(({ refresh }) => refresh)))
      const op = sampler(bench, server, refreshing(await refreshTokens(server)))
      await base(warmUp)
      await op(warmUp)
      const stop = async () => {
        await Promise.all([server.stop(), library.stop()])
      }
      return { base, op, server, stop }
    },
  },
  {
    name: 'workers',
    title: 'Client credentials, ES256, two workers on two cores',
    to: 'one process on one core',
    target: 1.6,
    workers: 2,
    async prepare(bench) {
      const [single, server] = [await startOauth(bench), await startOauth(bench, 'ES256', 2)]
      const base = sampler(bench, single, clientCredentialsRequests)
      const op = sampler(bench, server, clientCredentialsRequests)
      await base(warmUp)
      await op(warmUp)
      const stop = async () => {
        await Promise.all([server.stop(), single.stop()])
      }
      return { base, op, server, stop }
    },
  },
]
