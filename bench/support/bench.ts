import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { freePort } from '../../test/support/port.ts'
import { type Postgresql, startPostgresql } from './postgresql.ts'
import { type Running, startServer } from './processes.ts'
import { frontend, host, passwordHash, secret } from './requests.ts'
import { type Amounts, fillPostgresql, fillSqlite } from './rows.ts'

export interface BenchOptions {
  /** Seconds of one sample. */
  seconds: number
  /** The number of samples of the operation. Samples of the base are taken in between. */
  rounds: number
  connections: number
  /** The folder of the compiled program. */
  dist: string
  /** Additional Node flags for the measured server. */
  flags?: readonly string[]
  /** Additional settings of PostgreSQL. */
  postgresql?: Record<string, string>
  /** The core that the measured servers run on. Without it, they use all cores. */
  core?: number
}

/** A program to measure, other than svc. */
export interface Program {
  /** Node by default. */
  command?: string
  args: string[]
  port: number
  /** A path that returns 200 once the program is ready. */
  ready: string
  env?: NodeJS.ProcessEnv
  timeout?: number
}

const root = resolve(import.meta.dirname, '../..')

/** The flags that `npm start` runs Node with. */
export const startFlags: string[] = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  .scripts.start.split(' ')
  .filter((word: string) => word.startsWith('--'))

/** The servers of one run, in a temporary folder that is deleted at the end. */
export class Bench {
  readonly options: BenchOptions
  /** A temporary folder for the files of the servers. */
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  readonly #running = new Set<Running>()
  readonly #databases = new Map<string, Promise<string>>()
  #postgresql: Promise<Postgresql> | undefined
  #files = 0

  constructor(options: BenchOptions) {
    this.options = { ...options, dist: resolve(root, options.dist) }
    // PostgreSQL runs as another user, who must be able to enter.
    chmodSync(this.folder, 0o711)
    process.once('exit', () => rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 }))
    if (!existsSync(join(this.options.dist, 'main.js'))) {
      throw new Error(`${this.options.dist}/main.js does not exist: npm run build`)
    }
  }

  /** Returns a filled PostgreSQL database of this name. Creates it on first use. */
  database(name: string, amounts: Amounts): Promise<string> {
    let found = this.#databases.get(name)
    if (!found) {
      found = this.#fill(name, amounts)
      this.#databases.set(name, found)
    }
    return found
  }

  async sqliteFile(amounts: Pick<Amounts, 'users' | 'tokens'>): Promise<string> {
    const file = join(this.folder, `svc-${++this.#files}.db`)
    await fillSqlite(file, amounts, passwordHash())
    return file
  }

  /** Starts the compiled program on this database with a production configuration. */
  async startSvc(
    database: string,
    more: { server?: object; [section: string]: unknown } = {},
    { dist = this.options.dist, flags = startFlags }: { dist?: string; flags?: readonly string[] } = {},
  ): Promise<Running> {
    const port = await freePort()
    const config = join(this.folder, `svc-${port}.yaml`)
    const settings = {
      app: { url: `https://${host}`, frontend_url: frontend, secret, environment: 'production' },
      database: { url: database },
      stateful: [new URL(frontend).host],
      mail: { url: 'file:mails', from: `svc <no-reply@${host}>` },
      ...more,
      server: { host: '127.0.0.1', ...more.server, port },
    }
    writeFileSync(config, stringify(settings), { mode: 0o600 })
    const args = [...flags, ...(this.options.flags ?? []), join(dist, 'main.js')]
    return this.start({ args, port, ready: '/health/ready', env: { SVC_CONFIG: config } })
  }

  async startBare(): Promise<Running> {
    const port = await freePort()
    return this.start({ args: [join(root, 'bench/bare.ts'), String(port)], port, ready: '/api/user' })
  }

  /** The OAuth library alone, with its store in memory or in this database. */
  async startLibrary(database?: string): Promise<Running> {
    const port = await freePort()
    const args = [...startFlags, join(root, 'bench/library.ts'), String(port), ...(database ? [database] : [])]
    return this.start({ args, port, ready: '/ready' })
  }

  /** One nginx process with these servers. `/ready` returns 200. */
  async startNginx(servers: (port: number) => string): Promise<Running> {
    const port = await freePort()
    const folder = join(this.folder, `nginx-${port}`)
    mkdirSync(folder)
    const config = join(folder, 'nginx.conf')
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${join(folder, name)};`)
      .join(' ')
    writeFileSync(
      config,
      `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; master_process off; error_log stderr; pid ${join(folder, 'pid')};
events { worker_connections 1024; }
http { access_log off; ${paths} ${servers(port)} }`,
    )
    return this.start({ command: 'nginx', args: ['-p', folder, '-e', 'stderr', '-c', config], port, ready: '/ready' })
  }

  async postgresqlVersion(): Promise<string | null> {
    return this.#postgresql ? (await this.#postgresql).version : null
  }

  /** Stops all processes. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((running) => running.stop()))
    if (this.#postgresql) await (await this.#postgresql).stop()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  /** The PostgreSQL server of this run. Starts it on first use. */
  postgresql(): Promise<Postgresql> {
    this.#postgresql ??= startPostgresql(join(this.folder, 'postgresql'), this.options.postgresql)
    return this.#postgresql
  }

  async #fill(name: string, amounts: Amounts): Promise<string> {
    const url = await (await this.postgresql()).create(name)
    await fillPostgresql(url, amounts, passwordHash())
    return url
  }

  /** Starts a program that is stopped with the benchmark. */
  async start({ command = process.execPath, args, env, ...program }: Program): Promise<Running> {
    const errors = join(this.folder, `stderr-${program.port}`)
    const shared = { PATH: `${process.env.PATH}:/usr/sbin`, HOME: this.folder, NODE_ENV: 'production' }
    const running = await startServer({
      ...this.#pinned(command, args),
      ...program,
      cwd: this.folder,
      env: { ...shared, ...env },
      errors,
    })
    this.#running.add(running)
    const stop = async () => {
      this.#running.delete(running)
      await running.stop()
    }
    return { ...running, stop }
  }

  /** Runs a program until it ends. Throws if it fails. */
  async run(program: string, programArgs: string[]): Promise<void> {
    const { command, args } = this.#pinned(program, programArgs)
    const env = { PATH: process.env.PATH, HOME: this.folder }
    await promisify(execFile)(command, args, { cwd: this.folder, env, maxBuffer: 2 ** 26 })
  }

  /** The command on the core of the measured servers. */
  #pinned(command: string, args: string[]) {
    const { core } = this.options
    return core === undefined ? { command, args } : { command: 'taskset', args: ['-c', String(core), command, ...args] }
  }
}
