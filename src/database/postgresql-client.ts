import type { Duplex } from 'node:stream'
import pg from 'pg'

/** SQLSTATE of a write on a standby. */
const readOnly = '25006'

/** Messages of the server that the driver reads but does not pass on. */
interface Messages {
  stream: Duplex
  on(name: 'parameterStatus', listener: (message: { parameterName: string; parameterValue: string }) => void): void
  on(name: 'errorMessage', listener: (message: { code?: string }) => void): void
}

/** A connection that closes when its server rejects a write as a standby. The next connection can reach the new primary. */
class PrimaryClient extends pg.Client {
  isStandby = false

  constructor(options?: pg.ClientConfig) {
    super(options)
    const connection = messagesOf(this)
    // Servers from PostgreSQL 14 on report this for each new connection, without a query.
    connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName === 'in_hot_standby') this.isStandby = parameterValue === 'on'
    })
    connection.on('errorMessage', ({ code }) => {
      if (code === readOnly) connection.stream.destroy()
    })
  }
}

/** Returns the socket and the messages of a connection. */
// Sound: the driver has this property, but its types omit it.
export const messagesOf = (client: pg.ClientBase): Messages =>
  (client as unknown as { connection: Messages }).connection

/** Seconds to wait for a connection. */
const connectTimeout = 5

/** Milliseconds to wait for a connection. The URL can set the seconds as in libpq: `?connect_timeout=10`. */
export function connectTimeoutOf(url: string): number {
  const given = URL.parse(url)?.searchParams.get('connect_timeout') ?? ''
  return 1_000 * (/^[1-9]\d{0,3}$/.test(given) ? Number(given) : connectTimeout)
}

/** Options of every pool: connections only to a server that accepts writes, because the rows of a standby may be old. */
export function poolOptions(url: string) {
  return {
    connectionString: url,
    Client: PrimaryClient,
    connectionTimeoutMillis: connectTimeoutOf(url),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    async onConnect(client: pg.ClientBase) {
      if (!(client instanceof PrimaryClient && client.isStandby)) return
      throw Object.assign(new Error('the database is a standby, not the primary'), { code: readOnly })
    },
  }
}
