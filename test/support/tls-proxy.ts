// lane: all
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { findProgram } from '../proxies/tools.ts'
import { freePort } from './port.ts'
import { temporaryDirectory } from './process.ts'
import { until } from './until.ts'

const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' })
const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** The address from which the proxy connects to svc. Its clients have 127.0.0.1. */
export const proxyAddress = '127.0.0.9'

interface CertificateFacts {
  host?: string
  /** Negative for an expired certificate. */
  days?: number
  /** Whether the server sends the intermediate certificate too. */
  isComplete?: boolean
}

/** An authority with an intermediate one, as public certificates have it. */
export class Authority {
  readonly folder: string
  #count = 0

  constructor(t: Test) {
    this.folder = temporaryDirectory(t)
    const { root, intermediate } = this
    const authority = this.#write('authority.ext', 'basicConstraints=critical,CA:TRUE')
    openssl('req', '-x509', ...curve, '-days', '30', '-subj', '/CN=Root', '-keyout', `${root}.key`, '-out', root)
    const asked = join(this.folder, 'intermediate.csr')
    openssl('req', '-new', ...curve, '-subj', '/CN=Intermediate', '-keyout', `${intermediate}.key`, '-out', asked)
    const signed = ['x509', '-req', '-in', asked, '-CA', root, '-CAkey', `${root}.key`, '-days', '30']
    openssl(...signed, '-extfile', authority, '-out', intermediate)
  }

  /** The certificate that clients trust, for NODE_EXTRA_CA_CERTS. */
  get root(): string {
    return join(this.folder, 'root.pem')
  }

  get intermediate(): string {
    return join(this.folder, 'intermediate.pem')
  }

  #write(name: string, text: string): string {
    const file = join(this.folder, name)
    writeFileSync(file, text)
    return file
  }

  /** Issues a certificate: the files of the chain and of the key. */
  issue({ host = 'localhost', days = 90, isComplete = true }: CertificateFacts = {}): { chain: string; key: string } {
    const name = join(this.folder, `leaf${++this.#count}`)
    const { intermediate } = this
    const extensions = this.#write(`leaf${this.#count}.ext`, `subjectAltName=${isIP(host) ? 'IP' : 'DNS'}:${host}`)
    openssl('req', '-new', ...curve, '-subj', `/CN=${host}`, '-keyout', `${name}.key`, '-out', `${name}.csr`)
    const signed = ['x509', '-req', '-in', `${name}.csr`, '-CA', intermediate, '-CAkey', `${intermediate}.key`]
    openssl(...signed, '-days', String(days), '-extfile', extensions, '-out', `${name}.pem`)
    const parts = [`${name}.pem`, ...(isComplete ? [intermediate] : [])]
    const chain = `${name}.chain.pem`
    writeFileSync(chain, parts.map((file) => readFileSync(file, 'utf8')).join(''))
    return { chain, key: `${name}.key` }
  }
}

/** Starts nginx with TLS in front of a port of this machine, with these directives, and returns its port. */
export async function startTlsProxy(
  t: Test,
  { chain, key }: { chain: string; key: string },
  target: number,
  directives: readonly string[] = ['proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'],
  port?: number,
): Promise<number> {
  const folder = temporaryDirectory(t)
  const at = port ?? (await freePort())
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  writeFileSync(
    join(folder, 'nginx.conf'),
    `${user} daemon off; master_process off; error_log stderr; pid ${folder}/nginx.pid; events {}
http {
  access_log off; ${temporary.join(' ')}
  server {
    listen 127.0.0.1:${at} ssl;
    ssl_certificate ${chain};
    ssl_certificate_key ${key};
    location / {
      proxy_bind ${proxyAddress};
      proxy_pass http://127.0.0.1:${target};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-Proto $scheme;
      ${directives.join('\n')}
    }
  }
}`,
  )
  const child = spawn(findProgram('nginx') ?? '', ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')], {
    stdio: 'ignore',
  })
  const ended = new Promise<void>((done) => child.once('close', () => done()))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const isServing = () =>
    new Promise<boolean>((done) => {
      const options = { host: '127.0.0.1', port: at, rejectUnauthorized: false, agent: false }
      request(options, (answer) => done(answer.resume() !== null))
        .once('error', () => done(false))
        .end()
    })
  await until(async () => child.exitCode !== null || (await isServing()))
  if (child.exitCode !== null) throw new Error('nginx does not start.')
  return at
}
