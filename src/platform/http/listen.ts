import { createServer, type Server } from 'node:net'

/** Errors of a machine without IPv6. */
const withoutIpv6 = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])

/** Returns the host to listen on: for `::`, which includes IPv4, `0.0.0.0` on a machine without IPv6. */
export async function listenHost(host: string, open: () => Server = createServer): Promise<string> {
  if (host !== '::') return host
  const server = open()
  const code = await new Promise<string | undefined>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    // Exclusive, because the primary would take the probe of a worker for its port.
    server.listen({ port: 0, host, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
  return code !== undefined && withoutIpv6.has(code) ? '0.0.0.0' : host
}

/** A port besides `server.port` is not available; the message names its key. */
export class PortError extends Error {}

/** Listens on the port of a key, such as `metrics.port`. Throws a PortError if it is not available. */
export async function listenOn(server: Server, { host, port, key }: { host: string; port: number; key: string }) {
  const address = await listenHost(host)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'EADDRINUSE' ? `port ${port} is in use` : error.message
      const text = `svc cannot listen: ${reason}. Set ${key} to a port that is free, or to null.`
      reject(new PortError(text, { cause: error }))
    })
    server.listen(port, address, resolve)
  })
}
