import { readFileSync } from 'node:fs'
import { clientCredentialsRequests, introspectionRequests, jwtRequests, refreshing } from '../support/oauth-requests.ts'
import type { Running } from '../support/processes.ts'
import type { Peer, TokenPair } from './peer.ts'

async function tokens({ port }: Running, count: number): Promise<TokenPair[]> {
  return (await fetch(`http://127.0.0.1:${port}/tokens?count=${count}`)).json() as Promise<TokenPair[]>
}

const accessTokens = async (server: Running, count: number) => (await tokens(server, count)).map(({ access }) => access)

/** The OAuth library that svc uses, alone. It has no users. */
export const library: Peer = {
  name: 'oidc-provider',
  title: 'oidc-provider',
  version: JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).dependencies[
    'oidc-provider'
  ],
  warmUp: 2,
  store: 'memory',
  prepare: async (bench) => () => bench.startLibrary(),
  requests: {
    'client-credentials': () => clientCredentialsRequests,
    introspection: async (server, count) => introspectionRequests(await accessTokens(server, count)),
    userinfo: async (server, count) => jwtRequests('/oauth/userinfo', await accessTokens(server, count)),
    refresh: async (server, count) => refreshing((await tokens(server, count)).map(({ refresh }) => refresh)),
  },
}
