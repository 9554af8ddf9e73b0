import type pg from 'pg'
import type { Dependency } from '../dependencies.ts'
import { messagesOf } from './postgresql-client.ts'

/** SQLSTATE of a server that accepts no further connections, while those that are open still work. */
const tooManyConnections = '53300'

type Connect = (error: Error | undefined, client: pg.PoolClient | undefined, release: () => void) => void

/**
 * Rejects requests for a connection at once during an outage, if as many as the pool has connections wait already. Without
 * this, all requests would wait for the timeout of their connection.
 */
export function refuseDuringOutage(pool: pg.Pool, state: Dependency): void {
  let isOut = false
  const failed = (error: Error & { code?: string }) => {
    if (error.code === tooManyConnections) return
    isOut = true
    state.failed(error)
  }
  const worked = () => {
    isOut = false
    state.worked()
  }
  pool.on('connect', worked)
  // An idle connection ended, and the pool replaces it. Without a listener, the error would end the process.
  pool.on('error', () => undefined)
  pool.on('release', (error, client) => {
    // The server answered: otherwise, the query would hold the connection, or would have closed it.
    if (!error && !messagesOf(client).stream.destroyed) worked()
  })
  const connect = pool.connect.bind(pool) as (done: Connect) => void
  const limited = (done: Connect): void => {
    if (isOut && pool.totalCount - pool.idleCount >= pool.options.max) {
      done(refusal(), undefined, () => undefined)
      return
    }
    connect((error, client, release) => {
      if (error) failed(error)
      done(error, client, release)
    })
  }
  const connected = () =>
    new Promise<pg.PoolClient>((resolve, reject) => {
      limited((error, client) => (client ? resolve(client) : reject(error)))
    })
  // Sound: these are both forms of the method.
  pool.connect = ((done?: Connect) => (done ? limited(done) : connected())) as typeof pool.connect
}

/** An error that `isUnavailable` recognises: SQLSTATE `cannot_connect_now`. */
const refusal = () =>
  Object.assign(new Error('the database does not work, and other requests wait for it'), { code: '57P03' })
