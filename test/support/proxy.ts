import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { freePort } from './process.ts'

/** A proxy in front of a server that can be cut and restored, hang, or add a delay. */
export async function openProxy(t: Test, target: URL) {
  const port = await freePort()
  const sockets = new Set<Socket>()
  let isSilent = false
  let latency = 0
  let lastWords: string | null = null
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.once('close', () => sockets.delete(socket))
    }
    let isDoomed = false
    near.on('data', (chunk) => {
      if (lastWords !== null && chunk.includes(lastWords)) isDoomed = true
      if (latency > 0) setTimeout(() => far.write(chunk), latency)
      else if (!isSilent) far.write(chunk)
    })
    far.on('data', (chunk) => (isDoomed ? near.destroy() : near.write(chunk)))
    near.once('close', () => far.destroy())
    far.once('close', () => near.destroy())
  })
  const open = () => new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  const cut = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  await open()
  t.teardown(cut)
  const url = new URL(target)
  url.host = `127.0.0.1:${port}`
  // During an outage, svc waits as long as it does by default.
  url.searchParams.delete('connect_timeout')
  const fallSilent = () => {
    isSilent = true
  }
  /** Delays sent data by this many milliseconds. */
  const slowDown = (milliseconds: number) => {
    latency = milliseconds
  }
  /** Passes these words on, and cuts the connection before their answer. */
  const cutAfter = (words: string | null) => {
    lastWords = words
  }
  return { url: url.href, open, cut, fallSilent, slowDown, cutAfter }
}
