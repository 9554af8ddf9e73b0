import { randomBytes } from 'node:crypto'
import { chmodSync, renameSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { type ReloadResult, reloadRequest } from '../../platform/workers/reload-result.ts'
import { isStale } from './client.ts'
import type { RunDirectory } from './run-directory.ts'

/** How long a client may take to send its request, in milliseconds. */
const requestTimeout = 5_000

/** Takes the requests of `svc config:reload` on a socket that only the user that runs svc can open. */
export class ControlServer {
  readonly #path: string
  readonly #server: Server

  private constructor(path: string, server: Server) {
    this.#path = path
    this.#server = server
  }

  /** Opens the socket. If this fails, logs why and returns null: svc then runs without `svc config:reload`. */
  static async open(
    directory: RunDirectory,
    reload: () => Promise<ReloadResult>,
    log: Pick<FastifyBaseLogger, 'warn'>,
  ): Promise<ControlServer | null> {
    // Windows has no file modes and user ids that could protect the socket.
    if (!process.getuid) return null
    const server = createServer((socket) => answer(socket, reload))
    server.maxConnections = 8
    server.unref()
    try {
      directory.create()
      for (const path of directory.sockets()) if (await isStale(path)) rmSync(path, { force: true })
      const name = randomBytes(4).toString('hex')
      // The socket gets its final name only once it accepts connections, so that clients never find an unready one.
      const draft = `${directory.socket(name)}~`
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(draft, resolve)
      })
      chmodSync(draft, 0o600)
      renameSync(draft, directory.socket(name))
      server.on('error', () => undefined)
      return new ControlServer(directory.socket(name), server)
    } catch (error) {
      server.close()
      log.warn({ err: error }, 'cannot open the control socket, svc config:reload does not work')
      return null
    }
  }

  /** Closes the socket. */
  close(): void {
    rmSync(this.#path, { force: true })
    this.#server.close()
  }
}

function answer(socket: Socket, reload: () => Promise<ReloadResult>): void {
  let received = ''
  socket.on('error', () => undefined)
  socket.setTimeout(requestTimeout, () => socket.destroy())
  socket.setEncoding('latin1').on('data', (text) => {
    received += text
    if (!reloadRequest.startsWith(received)) return socket.destroy()
    if (received !== reloadRequest) return
    socket.setTimeout(0)
    socket.pause()
    reload().then(
      (result) => socket.end(`${JSON.stringify({ pid: process.pid, ...result })}\n`),
      () => socket.destroy(),
    )
  })
}
