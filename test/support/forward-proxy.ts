import { createServer, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A forward proxy of a company: it asks for a password, and resolves names itself. */
export interface ForwardProxy {
  url: string
  /** The requests so far, such as `CONNECT smtp.example:2525`. */
  seen: string[]
}

/** The section `outbound` without a proxy. */
export const directly = { allow_private: [], proxy: null, no_proxy: [] }

/** Starts a forward proxy that reaches these hosts, given as `name:port` and the port on this machine. */
export async function startForwardProxy(t: Test, hosts: Record<string, number>): Promise<ForwardProxy> {
  const seen: string[] = []
  const expected = `Basic ${Buffer.from('svc:p@ss').toString('base64')}`
  const sockets = new Set<Socket>()
  const server = createServer((asked, answer) => {
    seen.push(`${asked.method} ${asked.url}`)
    if (asked.headers['proxy-authorization'] !== expected) return void answer.writeHead(407).end()
    const { host, port, pathname } = new URL(asked.url ?? '')
    const target = hosts[port ? host : `${host}:80`]
    if (target === undefined) return void answer.writeHead(502).end()
    const { method, headers } = asked
    const sent = request({ host: '127.0.0.1', port: target, method, headers, path: pathname }, (received) => {
      answer.writeHead(received.statusCode ?? 502, received.headers)
      received.pipe(answer)
    })
    asked.pipe(sent)
  })
  server.on('connect', (asked, near: Socket) => {
    seen.push(`CONNECT ${asked.url}`)
    if (asked.headers['proxy-authorization'] !== expected) {
      return near.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    }
    const target = hosts[asked.url ?? '']
    if (target === undefined) return near.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    const far = connect(target, '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n')
      far.pipe(near).pipe(far)
    })
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://svc:p%40ss@localhost:${(server.address() as AddressInfo).port}`, seen }
}
