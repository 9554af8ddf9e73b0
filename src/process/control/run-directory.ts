import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The directory of the sockets of running servers. Only the user that runs svc can access it. */
export class RunDirectory {
  readonly path: string
  /** Prefix of the socket names of all servers with this configuration file. */
  readonly #prefix: string

  constructor(path: string, configFile: string) {
    this.path = path
    this.#prefix = createHash('sha256').update(configFile).digest('hex').slice(0, 16)
  }

  /** Creates the directory. Throws if another user could replace files in it. */
  create(): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 })
    this.#check()
  }

  /** Path of a socket. */
  socket(name: string): string {
    return join(this.path, `${this.#prefix}-${name}.sock`)
  }

  /** Writes the address on which svc listens, for the health check of the image. */
  noteAddress(host: string, port: number): void {
    this.create()
    writeFileSync(join(this.path, 'address'), `${host} ${port}\n`, { mode: 0o600 })
  }

  /** Paths of the sockets of these servers, including servers that crashed. */
  sockets(): string[] {
    try {
      this.#check()
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
      throw error
    }
    const names = readdirSync(this.path).filter((name) => name.startsWith(`${this.#prefix}-`) && name.endsWith('.sock'))
    return names.map((name) => join(this.path, name))
  }

  #check(): void {
    const found = lstatSync(this.path)
    const isOurs = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
    if (!isOurs) {
      throw new Error(
        `${this.path} must be a directory of the user that runs svc, without write access for others. ` +
          'Remove it, or set SVC_RUN_DIR to another directory.',
      )
    }
  }
}
