import { createServer, type Server } from 'node:net'

/** Errors of a machine without IPv6. */
const withoutIpv6 = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])

/** Returns the host to listen on: for `::`, which includes IPv4, `0.0.0.0` on a machine without IPv6. */
export async function listenHost(host: string, open: () => Server = createServer): Promise<string> {
  if (host !== '::') return host
  const server = open()
  const code = await new Promise<string | undefined>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    server.listen(0, host, () => server.close(() => resolve(undefined)))
  })
  return code !== undefined && withoutIpv6.has(code) ? '0.0.0.0' : host
}
