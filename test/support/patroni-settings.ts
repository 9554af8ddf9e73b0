import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findPostgresql } from './postgresql-server.ts'

/** The folder of all programs of PostgreSQL: another one may have links to some. */
const binaries = () => dirname(realpathSync(join(findPostgresql() ?? '', 'initdb')))

/** Addresses of a node: those of etcd, of Patroni and of PostgreSQL, and the range that may connect. */
interface Addresses {
  etcd: string
  rest: string
  database: string
  range: string
}

/** The configuration of Patroni. */
export const patroniSettings = ({ etcd, rest, database, range }: Addresses, name: string, folder: string) => ({
  scope: 'svc',
  name,
  restapi: { listen: rest, connect_address: rest },
  // Without discovery of the address of etcd, which would lead past the proxy of the node.
  // And with version 2 of its API: with version 3, Patroni 3.0 overwrites the lock of the new primary after a pause.
  etcd: { host: etcd, use_proxies: true },
  bootstrap: {
    dcs: {
      ttl: 10,
      loop_wait: 2,
      retry_timeout: 3,
      maximum_lag_on_failover: 1_048_576,
      synchronous_mode: true,
      // A crashed primary is replaced at once; by default Patroni tries to start it again first.
      primary_start_timeout: 0,
      postgresql: { use_pg_rewind: true, parameters: { max_connections: 100, wal_log_hints: 'on' } },
    },
    initdb: [{ encoding: 'UTF8' }, { auth: 'trust' }, 'no-sync'],
  },
  postgresql: {
    listen: database,
    connect_address: database,
    data_dir: join(folder, 'data'),
    bin_dir: binaries(),
    pgpass: join(folder, 'pgpass'),
    authentication: { replication: { username: 'postgres' }, superuser: { username: 'postgres' } },
    // The machine does not crash, so nothing needs to reach its disk.
    parameters: { unix_socket_directories: folder, fsync: 'off', shared_buffers: '32MB' },
    pg_hba: ['local all all trust', `host all all ${range} trust`, `host replication all ${range} trust`],
  },
})

/** The settings that docs/high-availability.md recommends. */
export const haproxySettings = (port: number, nodes: { name: string; url: string; rest: string }[]) => `
defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map(({ name, url, rest }) => `  server ${name} ${new URL(url).host} check port ${new URL(rest).port}`).join('\n')}
`
