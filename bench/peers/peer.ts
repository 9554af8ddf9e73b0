import type { Bench } from '../support/bench.ts'
import type { NextRequest } from '../support/load.ts'
import type { Running } from '../support/processes.ts'

/** The operations to compare, in the order of the report. */
export const operations = {
  'client-credentials': 'Client credentials, ES256',
  introspection: 'Introspection of an access token',
  userinfo: 'UserInfo',
  password: 'Password grant, argon2id',
  refresh: 'Refresh with rotation',
  'sign-in': 'Sign-in with a password for a session, argon2id',
  session: 'Session check',
} as const

export type Operation = keyof typeof operations

/** Operations that spend most of their time on a password hash. */
export const hashing: readonly Operation[] = ['password', 'sign-in']

/** The number of users of each server. */
export const users = 1_000
/** The number of tokens or sessions that an operation uses, except refresh: one for each connection. */
export const credentials = 100

type LoadRequests = readonly Buffer[] | NextRequest

/** Creates the requests of an operation, with this number of tokens or sessions. */
type RequestsOf = (server: Running, count: number) => LoadRequests | Promise<LoadRequests>

/** A server to compare. */
export interface Peer {
  name: string
  title: string
  version: string
  /** Seconds of processor time under load before the first sample of an operation. */
  warmUp: number
  /** The store of the server, for the report. */
  store: 'PostgreSQL' | 'memory'
  /** Creates its database and its users. Returns a function that starts it. */
  prepare(bench: Bench): Promise<() => Promise<Running>>
  requests: Partial<Record<Operation, RequestsOf>>
}

/** Tokens of one user. */
export interface TokenPair {
  access: string
  refresh: string
}

/** Posts a form and returns the tokens of the response. */
export async function requestTokens(url: string, fields: Record<string, string>): Promise<TokenPair> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${text}`)
  const { access_token, refresh_token }: Record<string, string> = JSON.parse(text)
  return { access: access_token ?? '', refresh: refresh_token ?? '' }
}
