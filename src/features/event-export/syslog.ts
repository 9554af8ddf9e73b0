import { createSocket } from 'node:dgram'
import { connect, isIP, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { connect as connectTls } from 'node:tls'
import { version } from '../../platform/version.ts'
import type { ExportedEvent, Sink } from './sink.ts'

/** How long a receiver may take to accept a connection or a batch, in milliseconds. */
const timeout = 10_000

/** Facility authpriv, severity informational or warning. */
const priority = (isFailure: boolean): number => 10 * 8 + (isFailure ? 4 : 6)

/** A field of the header: printable ASCII without spaces. */
const field = (text: string, maxLength: number): string => text.replace(/[^!-~]/g, '').slice(0, maxLength) || '-'

/** Formats a message by RFC 5424. */
const syslogMessage = ({ type, isFailure, at, json }: ExportedEvent): string => {
  const header = [`<${priority(isFailure)}>1`, at.toISOString(), field(hostname(), 255), 'svc', process.pid]
  return [...header, field(type, 32), `[origin software="svc" swVersion="${version}"]`, json].join(' ')
}

const portOf = ({ port }: URL, usual: number): number => (port === '' ? usual : Number(port))

/** Sends messages to `syslog+udp`, `syslog+tcp`, `syslog+tls` or `syslog+unix`. */
export function syslogSink(target: string): Sink {
  if (target.startsWith('syslog+unix:')) {
    const path = target.slice('syslog+unix:'.length)
    return new StreamSink(() => connect({ path }))
  }
  const url = new URL(target)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (url.protocol === 'syslog+udp:') return datagramSink(host, portOf(url, 514))
  if (url.protocol === 'syslog+tcp:') return new StreamSink(() => connect({ host, port: portOf(url, 601) }))
  const name = isIP(host) ? {} : { servername: host }
  return new StreamSink(() => connectTls({ host, port: portOf(url, 6514), ...name }), 'secureConnect')
}

/** Sends each message in a datagram. Detects a missing receiver on the same machine, but not a lost datagram. */
const datagramSink = (host: string, port: number): Sink => ({
  async write(events) {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    const failed = new Promise<never>((_, reject) => socket.on('error', reject))
    failed.catch(() => undefined)
    try {
      await Promise.race([new Promise<void>((resolve) => socket.connect(port, host, resolve)), failed, late()])
      for (const event of events) {
        const sent = new Promise<void>((resolve, reject) =>
          socket.send(syslogMessage(event), (error) => (error ? reject(error) : resolve())),
        )
        await Promise.race([sent, failed])
      }
      // Waits briefly for the error that the system reports if no process listens on the port.
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 20)), failed])
    } finally {
      socket.close()
    }
  },
  close: () => undefined,
})

const late = (): Promise<never> =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`the receiver did not answer within ${timeout / 1000} s`)), timeout).unref()
  })

/** Sends messages over one connection, each after its length (RFC 6587, RFC 5425). */
class StreamSink implements Sink {
  readonly #open: () => Socket
  readonly #ready: string
  #socket: Socket | null = null
  /** The last batch, to send again over a new connection: without acknowledgements, the receiver may not have read it. */
  #last = ''

  constructor(open: () => Socket, ready = 'connect') {
    this.#open = open
    this.#ready = ready
  }

  async write(events: readonly ExportedEvent[]): Promise<void> {
    const batch = events.map((event) => syslogMessage(event)).map((message) => `${message.length} ${message}`)
    const text = batch.join('')
    const isNew = !this.#socket?.writable
    const socket = isNew ? await this.#connect() : this.#socket
    if (!socket) return
    const done = Promise.withResolvers<void>()
    const fail = (error?: Error) => done.reject(error ?? new Error('the receiver closed the connection'))
    socket.once('close', fail).once('error', fail)
    const timer = setTimeout(() => fail(new Error('the receiver does not read')), timeout)
    socket.write(isNew ? this.#last + text : text, (error) => (error ? fail(error) : done.resolve()))
    try {
      await done.promise
      this.#last = text
    } catch (error) {
      this.close()
      throw error
    } finally {
      clearTimeout(timer)
      socket.off('close', fail).off('error', fail)
    }
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = null
  }

  async #connect(): Promise<Socket> {
    this.close()
    const socket = this.#open()
    socket.unref()
    const done = Promise.withResolvers<void>()
    socket.on('error', done.reject)
    socket.once(this.#ready, () => done.resolve())
    // Syslog receivers send nothing. Reading detects when the receiver closes the connection.
    socket.resume()
    try {
      await Promise.race([done.promise, late()])
    } catch (error) {
      socket.destroy()
      throw error
    }
    this.#socket = socket
    return socket
  }
}
