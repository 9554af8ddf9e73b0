import { readFileSync } from 'node:fs'
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

/** Connects. The driver leaves the socket open if it rejects what the server asks for, which would keep the process alive. */
export async function connectClient(client: pg.Client): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    messagesOf(client).stream.destroy()
    throw error
  }
}

/** Seconds to wait for a connection. */
const connectTimeout = 5

/** Parameters that svc reads itself. The driver would treat `require` as a deprecated alias and print a warning. */
const ownParameters = ['connect_timeout', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey']

/** Returns the options of a connection. The parameters of the URL are those of libpq, which the configuration checks. */
export function connectionOptions(text: string) {
  const url = URL.parse(text)
  const given = Object.fromEntries(ownParameters.map((name) => [name, url?.searchParams.get(name) ?? null]))
  for (const name of ownParameters) url?.searchParams.delete(name)
  return {
    connectionString: url?.href ?? text,
    connectionTimeoutMillis: 1_000 * Number(given.connect_timeout ?? connectTimeout),
    keepAlive: true,
    ssl: tlsOptions(given),
  }
}

/**
 * Returns the options of TLS; false for a connection in clear text. Unlike in libpq, `require` also verifies the
 * certificate, because an attacker between svc and the database could otherwise read everything. `no-verify` encrypts
 * only.
 */
function tlsOptions({ sslmode, sslrootcert, sslcert, sslkey }: Record<string, string | null>): pg.ClientConfig['ssl'] {
  if (sslmode === 'disable') return false
  const read = (name: string, file: string | null | undefined) => (file ? { [name]: readFileSync(file, 'utf8') } : {})
  const files = { ...read('ca', sslrootcert), ...read('cert', sslcert), ...read('key', sslkey) }
  if (!sslmode && Object.keys(files).length === 0) return false
  return {
    ...files,
    ...(sslmode === 'no-verify' && { rejectUnauthorized: false }),
    ...(sslmode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  }
}

/**
 * Options of every pool: connections only to a server that accepts writes, because the rows of a standby may be old.
 * Each new connection reads the URL and its certificates again, because credentials change.
 */
export function poolOptions(url: () => string) {
  let options = connectionOptions(url())
  class CurrentClient extends PrimaryClient {
    constructor(ofPool?: pg.ClientConfig) {
      try {
        options = connectionOptions(url())
      } catch {
        // A file that is being replaced cannot be read for a moment.
      }
      super({ ...ofPool, ...options })
    }
  }
  return {
    ...options,
    Client: CurrentClient,
    keepAliveInitialDelayMillis: 10_000,
    async onConnect(client: pg.ClientBase) {
      if (!(client instanceof PrimaryClient && client.isStandby)) return
      throw Object.assign(new Error('the database is a standby, not the primary'), { code: readOnly })
    },
  }
}
