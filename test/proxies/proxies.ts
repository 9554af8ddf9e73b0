import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../support/port.ts'
import { until } from '../support/until.ts'
import { sendRaw } from './client.ts'
import { findProgram } from './tools.ts'

const documented = resolve(import.meta.dirname, '../../docs/proxies')

/** Where a proxy finds the others, and where it listens. */
interface Places {
  svc: number
  service: number
  port: number
  folder: string
}

interface Kind {
  /** The file in docs/proxies, and what replaces its parts. */
  file: string
  replaced: (places: Places) => Record<string, string>
  /** Program and arguments; `config` is the path of the file. */
  command: (config: string, places: Places) => string[]
  /** Lines around the file that the snippet leaves to the operator. */
  whole?: (text: string, places: Places) => string
  /** Further files, copied beside the configuration. */
  beside?: string[]
}

const certificate = ({ folder }: Places) => ({
  '/etc/ssl/example.com.crt': join(folder, 'example.com.crt'),
  '/etc/ssl/example.com.key': join(folder, 'example.com.key'),
})

const kinds = {
  nginx: {
    file: 'nginx.conf',
    replaced: (places) => ({ 'listen 443 ssl': `listen 127.0.0.1:${places.port} ssl`, ...certificate(places) }),
    whole: (text, { folder }) => {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${join(folder, name)};`)
        .join('\n')
      const user = process.getuid?.() === 0 ? 'user root;' : ''
      return `${user}\ndaemon off;\nmaster_process off;\nerror_log stderr;\npid ${join(folder, 'nginx.pid')};
events {}\nhttp {\naccess_log off;\n${temporary}\n${text}\n}\n`
    },
    command: (config, { folder }) => ['nginx', '-p', folder, '-e', 'stderr', '-c', config],
  },
  caddy: {
    file: 'Caddyfile',
    replaced: (places) => {
      const tls = `\n\ttls ${Object.values(certificate(places)).join(' ')}`
      const site = (host: string) => `https://${host}:${places.port} {${tls}`
      return {
        'auth.example.com {': site('auth.example.com'),
        'api.example.com {': site('api.example.com'),
      }
    },
    whole: (text) => `{\n\tadmin off\n\tauto_https off\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n${text}`,
    command: (config) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', config],
  },
  haproxy: {
    file: 'haproxy.cfg',
    replaced: ({ port, folder }) => ({
      'bind :443': `bind 127.0.0.1:${port}`,
      '/etc/haproxy/': `${folder}/`,
    }),
    command: (config) => ['haproxy', '-db', '-f', config],
    beside: ['svc-guard.lua'],
  },
  traefik: {
    file: 'traefik.yml',
    replaced: certificate,
    command: (config, { port }) => [
      'traefik',
      `--entryPoints.websecure.address=127.0.0.1:${port}`,
      '--entryPoints.websecure.http.aliasHeadersStrategy=delete',
      `--providers.file.filename=${config}`,
      '--providers.file.watch=false',
      '--global.checkNewVersion=false',
      '--global.sendAnonymousUsage=false',
      '--log.level=ERROR',
    ],
  },
  envoy: {
    file: 'envoy.yaml',
    replaced: (places) => ({
      'address: 0.0.0.0, port_value: 443': `address: 127.0.0.1, port_value: ${places.port}`,
      ...certificate(places),
    }),
    command: (config) => ['envoy', '-c', config, '--disable-hot-restart', '--concurrency', '1', '-l', 'error'],
  },
} satisfies Record<string, Kind>

export type ProxyName = keyof typeof kinds
export const proxyNames = Object.keys(kinds) as ProxyName[]

/** Names of the programs that are not installed. */
export const missingPrograms = (): string[] => [...proxyNames, 'openssl'].filter((name) => !findProgram(name))

interface Start {
  /** Ports of svc. */
  svc: number
  guard: number
  /** Port of the service. */
  service: number
  /** Replaces parts of the file, for a configuration that is not documented. */
  edits?: Record<string, string>
}

/** Starts a proxy with the file of docs/proxies, and returns its port. */
export async function startProxy(
  t: Test,
  name: ProxyName,
  { svc, guard, service, edits = {} }: Start,
): Promise<number> {
  const kind: Kind = kinds[name]
  const folder = mkdtempSync(join(tmpdir(), `svc-${name}-`))
  const places = { svc, service, port: await freePort(), folder }
  writeCertificate(folder)
  for (const file of kind.beside ?? []) copyFileSync(join(documented, file), join(folder, file))
  let text = readFileSync(join(documented, kind.file), 'utf8')
  const ports: Record<string, string> =
    name === 'envoy'
      ? {
          'port_value: 8000': `port_value: ${svc}`,
          'port_value: 8001': `port_value: ${guard}`,
          'port_value: 3000': `port_value: ${service}`,
        }
      : {
          '127.0.0.1:8000': `127.0.0.1:${svc}`,
          '127.0.0.1:8001': `127.0.0.1:${guard}`,
          '127.0.0.1:3000': `127.0.0.1:${service}`,
        }
  for (const [old, value] of Object.entries({ ...edits, ...ports, ...kind.replaced(places) })) {
    if (!text.includes(old)) throw new Error(`${kind.file} does not contain ${old}`)
    text = text.replaceAll(old, value)
  }
  // Traefik reads a traefik.yml in its working directory as its static configuration.
  const config = join(folder, `svc-${kind.file}`)
  writeFileSync(config, kind.whole?.(text, places) ?? text)
  const [program = '', ...args] = kind.command(config, places)
  const child = spawn(findProgram(program) ?? program, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (output += part))
  const ended = new Promise<void>((done) => child.once('close', () => done()))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  await until(async () => child.exitCode !== null || (await isServing(places.port)))
  if (child.exitCode !== null) throw new Error(`${name} does not start:\n${output}`)
  return places.port
}

/** Traefik opens its port before it has read its routes and certificates. */
const isServing = (port: number): Promise<boolean> =>
  sendRaw(port, 'GET /public/ready HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n').then(
    ({ status }) => status === 200 || status === 403,
    () => false,
  )

/** Writes a self-signed certificate for *.example.com. */
function writeCertificate(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const [key, crt] = [join(folder, 'example.com.key'), join(folder, 'example.com.crt')]
  const subject = ['-subj', '/CN=example.com', '-addext', 'subjectAltName=DNS:example.com,DNS:*.example.com']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const made = spawnSync('openssl', ['req', '-x509', '-days', '2', ...curve, '-keyout', key, '-out', crt, ...subject])
  if (made.status !== 0) throw new Error(String(made.stderr))
  writeFileSync(join(folder, 'example.com.pem'), readFileSync(crt, 'utf8') + readFileSync(key, 'utf8'))
}
