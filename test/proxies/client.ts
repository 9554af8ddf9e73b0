import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { connect as secure } from 'node:tls'

export interface Answer {
  status: number
  /** By lower-case name; several headers of one name are joined. */
  headers: Record<string, string>
  body: string
}

/** Sends raw text and reads one response. The HTTP clients of Node would normalise the text. */
export function sendRaw(port: number, text: string | Buffer, localAddress = '127.0.0.1'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const plain = connect({ port, host: '127.0.0.1', localAddress })
    const socket = secure({
      socket: plain,
      servername: 'api.example.com',
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    })
    const parts: Buffer[] = []
    const finish = () => {
      const answer = parseAnswer(Buffer.concat(parts))
      if (answer) resolve(answer)
      else reject(new Error(`no answer: ${Buffer.concat(parts)}`))
      socket.destroy()
    }
    socket.on('data', (part) => {
      parts.push(part)
      if (isComplete(Buffer.concat(parts))) finish()
    })
    // A proxy may close the connection before it has read a body.
    socket.once('close', finish)
    plain.on('error', () => socket.destroy())
    socket.on('error', () => undefined)
    socket.write(text)
  })
}

/** Tests for an upgrade or a whole body. Other answers end with the connection. */
function isComplete(bytes: Buffer): boolean {
  const answer = parseAnswer(bytes)
  const length = answer?.headers['content-length']
  if (answer?.headers['transfer-encoding'] === 'chunked') return bytes.toString('latin1').endsWith('\r\n0\r\n\r\n')
  return answer?.status === 101 || (length !== undefined && answer?.body.length === Number(length))
}

/** Returns null if the head is incomplete. */
function parseAnswer(bytes: Buffer): Answer | null {
  const text = bytes.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1])
  if (end < 0 || !status) return null
  if (status === 100) return parseAnswer(bytes.subarray(end + 4))
  const headers: Record<string, string> = {}
  for (const line of text.slice(0, end).split('\r\n').slice(1)) {
    const at = line.indexOf(':')
    const name = line.slice(0, at).toLowerCase()
    const value = line.slice(at + 1).trim()
    headers[name] =
      headers[name] === undefined ? value : `${headers[name]}${name === 'set-cookie' ? '\n' : ', '}${value}`
  }
  const rest = text.slice(end + 4)
  const body = headers['transfer-encoding'] === 'chunked' ? joinChunks(rest) : rest
  return { status, headers, body }
}

function joinChunks(text: string): string {
  const [, size = '0'] = /^([\da-f]+)\r\n/i.exec(text) ?? []
  const length = Number.parseInt(size, 16)
  if (length === 0) return ''
  const start = size.length + 2
  return text.slice(start, start + length) + joinChunks(text.slice(start + length + 2))
}

/** Returns the status of a request over HTTP/2, or null if the stream was reset. */
export function sendHttp2(port: number, headers: Record<string, string>): Promise<number | null> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    servername: 'api.example.com',
  })
  return new Promise((resolve) => {
    const finish = (status: number | null) => {
      resolve(status)
      session.destroy()
    }
    session.once('error', () => finish(null))
    const stream = session.request(headers).resume()
    stream.once('response', (answer) => finish(answer[':status'] ?? null))
    stream.once('error', () => finish(null))
    stream.once('close', () => finish(null))
  })
}

/**
 * Asks to switch the protocol, and returns the status of the answer. If the connection was switched, it first sends an
 * HTTP/2 request for `/secret` as another user.
 */
export async function sendUpgrade(port: number, head: string): Promise<number> {
  const socket = secure({ port, host: '127.0.0.1', servername: 'api.example.com', rejectUnauthorized: false })
  socket.on('error', () => socket.destroy())
  socket.write(head)
  let text = ''
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    text += part.toString('latin1')
    if (text.includes('\r\n\r\n')) break
  }
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1])
  if (status === 101) {
    const session = connectHttp2('http://api.example.com', { createConnection: () => socket })
    await new Promise<void>((resolve) => {
      session.on('error', () => resolve()).on('close', () => resolve())
      const stream = session.request({ ':path': '/secret', 'remote-user': '1' })
      stream.on('error', () => resolve()).on('close', () => resolve())
      stream.resume()
    })
    session.destroy()
  }
  socket.destroy()
  return status
}
