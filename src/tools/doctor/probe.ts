import { type IncomingHttpHeaders, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { TLSSocket } from 'node:tls'

/** Timeout of one request, in milliseconds. */
const timeout = 10_000

/** Maximum size of a body that a check reads, in bytes. */
const maxBytes = 256 * 1024

/** The TLS connection of an answer. */
interface Tls {
  /** Code of the reason why the certificate is invalid, or null. */
  invalid: string | null
  protocol: string
  validTo: number
}

export interface ProbeResponse {
  status: number
  headers: IncomingHttpHeaders
  body: string
  /** Null on plain http. */
  tls: Tls | null
}

interface Sent {
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
}

/**
 * Sends a request without credentials over a new connection. It accepts every certificate, so that an invalid one does
 * not hide the results of the other checks, and follows no redirects.
 */
export function probe(url: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<ProbeResponse> {
  const send = url.startsWith('https:') ? tlsRequest : plainRequest
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeout)
    const sent = { 'user-agent': 'svc-doctor', accept: 'application/json', ...headers }
    const request = send(url, { method, headers: sent, agent: false, rejectUnauthorized: false, signal }, (answer) => {
      const tls = answer.socket instanceof TLSSocket ? tlsOf(answer.socket) : null
      const chunks: Buffer[] = []
      let size = 0
      answer.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxBytes) answer.destroy(new Error(`the response is larger than ${maxBytes} bytes`))
        else chunks.push(chunk)
      })
      answer.once('error', reject)
      answer.once('end', () => {
        const { statusCode: status = 0, headers: received } = answer
        resolve({ status, headers: received, body: Buffer.concat(chunks).toString(), tls })
      })
    })
    request.once('error', (error) => reject(signal.aborted ? new Error(`no answer within ${timeout} ms`) : error))
    request.end(body)
  })
}

function tlsOf(socket: TLSSocket): Tls {
  const { authorized, authorizationError } = socket
  // Sound: the types say Error, but the value is its code.
  const reason = authorizationError as unknown as string | Error | undefined
  return {
    invalid: authorized
      ? null
      : reason instanceof Error
        ? ((reason as NodeJS.ErrnoException).code ?? reason.message)
        : String(reason),
    protocol: socket.getProtocol() ?? 'unknown',
    validTo: Date.parse(socket.getPeerCertificate().valid_to),
  }
}
