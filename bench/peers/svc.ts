import { readFileSync } from 'node:fs'
import {
  clientCredentialsRequests,
  introspectionRequests,
  jwtRequests,
  oauthSettings,
  passwordGrantRequests,
  refreshing,
  userTokens,
} from '../support/oauth-requests.ts'
import type { Running } from '../support/processes.ts'
import { password, sessionLoginRequests, sessionRequests } from '../support/requests.ts'
import { settlePostgresql } from '../support/rows.ts'
import { type Peer, users } from './peer.ts'

const accessTokens = async ({ port }: Running, count: number) => (await userTokens(port, count, password)).access

/** svc itself, with one worker. */
export const svc: Peer = {
  name: 'svc',
  title: 'svc',
  version: JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version,
  warmUp: 2,
  store: 'PostgreSQL',
  async prepare(bench) {
    const url = await bench.database('svc', { users, tokens: users, sessions: users })
    return async () => {
      await settlePostgresql(url, 1)
      return bench.startSvc(url, oauthSettings('ES256'))
    }
  },
  requests: {
    'client-credentials': () => clientCredentialsRequests,
    introspection: async (server, count) => introspectionRequests(await accessTokens(server, count)),
    userinfo: async (server, count) => jwtRequests('/oauth/userinfo', await accessTokens(server, count)),
    password: () => passwordGrantRequests(users),
    refresh: async ({ port }, count) => refreshing((await userTokens(port, count, password, 'orders:read')).refresh),
    'sign-in': () => sessionLoginRequests(users),
    session: () => sessionRequests(users),
  },
}
