import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Below the ports that systems use for outgoing connections and for servers on port 0. */
const [first, count] = [20_000, 10_000]

/**
 * A TCP port that stays free for its caller until this process ends. A UDP socket with the same number reserves it:
 * other test processes skip a port whose UDP twin is taken, and the system releases it even when the process is killed.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * count)
    if ((await hold(port)) && (await isFree(port))) return port
  }
}

function hold(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  return new Promise((resolve) => {
    socket.once('error', () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      socket.unref()
      resolve(true)
    })
  })
}

/** Whether the port is free on every address: a server may outlive the test that started it. */
function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
