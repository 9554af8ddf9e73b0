import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'

/** A syslog receiver for streams, with TLS if it has a certificate. It checks the lengths of the messages. */
export class Receiver {
  readonly messages: string[] = []
  readonly sockets = new Set<Socket>()
  readonly server: Server
  constructor(tls?: { chain: string; key: string }) {
    const receive = (socket: Socket) => {
      this.sockets.add(socket)
      let text = ''
      socket.on('error', () => undefined)
      socket.setEncoding('utf8').on('data', (part) => {
        text += part
        for (let match = /^(\d+) /.exec(text); match; match = /^(\d+) /.exec(text)) {
          const begin = match[0].length
          const end = begin + Number(match[1])
          if (text.length < end) break
          this.messages.push(text.slice(begin, end))
          text = text.slice(end)
        }
      })
    }
    this.server = tls
      ? createTlsServer({ cert: readFileSync(tls.chain), key: readFileSync(tls.key) }, receive)
      : createServer(receive)
  }
  listen = (where: number) => new Promise<void>((resolve) => this.server.listen(where, '127.0.0.1', resolve))
  get port() {
    return (this.server.address() as AddressInfo).port
  }
  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    this.sockets.clear()
    await new Promise((resolve) => this.server.close(resolve))
  }
  get records() {
    return this.messages.map((message) => JSON.parse(message.slice(message.indexOf('] {') + 2)))
  }
}
