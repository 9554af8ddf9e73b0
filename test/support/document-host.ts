import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Test } from 'tap'
import type { Settings } from './app.ts'
import { temporaryDirectory } from './process.ts'

/** Names of this machine, which are different hosts for svc. */
export const hosts = ['localhost', '127.0.0.1', '127.0.0.2'] as const

/** Where programs that this person runs wait for the browser. */
export const loopback = 'http://127.0.0.1:33418/callback'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** An HTTPS server with metadata documents of clients, whose certificate this process trusts. */
export class DocumentHost {
  readonly port: number
  /** Paths that were requested, with the headers. */
  readonly calls: { path: string; headers: IncomingMessage['headers'] }[] = []
  readonly #answers = new Map<string, Answer>()
  readonly #close: () => void

  private constructor(port: number, answers: Map<string, Answer>, calls: DocumentHost['calls'], close: () => void) {
    this.port = port
    this.#answers = answers
    this.calls = calls
    this.#close = close
  }

  static async start(t: Test, port = 0): Promise<DocumentHost> {
    const answers = new Map<string, Answer>()
    const calls: DocumentHost['calls'] = []
    const server = createServer(trustedCertificate(t), (request, response) => {
      const path = request.url ?? '/'
      calls.push({ path, headers: request.headers })
      const answer = answers.get(path)
      if (answer) answer(request, response)
      else response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => server.listen(port, resolve))
    const address = server.address()
    const close = () => {
      server.closeAllConnections()
      server.close()
    }
    t.teardown(close)
    return new DocumentHost(typeof address === 'object' && address ? address.port : 0, answers, calls, close)
  }

  origin(host: (typeof hosts)[number] = 'localhost'): string {
    return `https://${host}:${this.port}`
  }

  /** Serves the document of a client, and returns its client_id. */
  serve(
    path: string,
    members: object = {},
    headers: Record<string, string> = {},
    host?: (typeof hosts)[number],
  ): string {
    const client_id = this.origin(host) + path
    const document = {
      client_id,
      client_name: 'Example Agent',
      redirect_uris: [loopback],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      ...members,
    }
    this.answer(path, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document))
    })
    return client_id
  }

  answer(path: string, answer: Answer): void {
    this.#answers.set(path, answer)
  }

  answerOf(path: string): Answer | undefined {
    return this.#answers.get(path)
  }

  callsTo(path: string): number {
    return this.calls.filter((call) => call.path === path).length
  }

  /** Stops answering. */
  stop(): void {
    this.#close()
  }
}

/** Settings of svc with clients that nobody registered. */
export const openTo = (more: Settings = {}): Settings => ({
  outbound: { allow_private: ['127.0.0.0/8', '::1/128'] },
  scopes: { 'orders:read': 'See your orders', 'orders:write': 'Change your orders' },
  oauth: {
    client_id_metadata: { enabled: true, scopes: ['openid', 'offline_access', 'orders:read'], ...more },
  },
})

let trusted: { key: Buffer; cert: Buffer } | undefined

function trustedCertificate(t: Test): { key: Buffer; cert: Buffer } {
  if (trusted) return trusted
  const folder = temporaryDirectory(t)
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = hosts.map((host) => (host === 'localhost' ? `DNS:${host}` : `IP:${host}`))
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=${names.join(',')}`]
  execFileSync('openssl', [...args, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  trusted = { key: readFileSync(key), cert: readFileSync(cert) }
  // What NODE_EXTRA_CA_CERTS does for a process at its start.
  setDefaultCACertificates([...getCACertificates('default'), trusted.cert.toString()])
  return trusted
}
