import { readFileSync, statSync, unwatchFile, watchFile } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { BootSettings } from './boot.ts'
import { ConfigError } from './config/config-error.ts'
import type { CurrentConfig } from './config/current.ts'
import { type Loaded, loadConfig, type ReadFile } from './config/load.ts'
import { nextConfig } from './config/next.ts'
import type { Settings } from './config/schema.ts'
import { sha256Hex } from './crypto/hash.ts'

/** How often each file is looked at, in milliseconds. */
const lookEvery = 1_000

/** A file that changed is read once it has held the same for so long, in milliseconds: it may be half written. */
const quiet = 200

/** Reads files, and remembers what each held: the configuration, and the secrets that it keeps in files. */
export class FilesRead {
  readonly #held = new Map<string, string>()

  readonly read: ReadFile = (path) => {
    try {
      const text = readFileSync(path, 'utf8')
      this.#held.set(path, sha256Hex(text))
      return text
    } catch (error) {
      this.#held.set(path, String(error))
      throw error
    }
  }

  get paths(): string[] {
    return [...this.#held.keys()]
  }

  /** Whether every file of these held the same for the others. */
  isSameAs(others: FilesRead): boolean {
    return this.paths.every((path) => this.#held.get(path) === others.#held.get(path))
  }

  /** What the same files hold now. */
  again(): FilesRead {
    const now = new FilesRead()
    for (const path of this.paths) {
      try {
        now.read(path)
      } catch {
        // That it cannot be read is remembered too.
      }
    }
    return now
  }
}

interface ReloaderParts {
  boot: BootSettings
  /** The files that were read at boot. */
  files: FilesRead
  log: FastifyBaseLogger
  /** Notes what is in force, at the beginning and after each change. */
  note: (settings: Settings) => Promise<void>
}

/**
 * Reads the configuration again, when asked and when one of its files changes, and puts what is new in force between two
 * requests; what is invalid changes nothing. Files are looked at every second, by their path: that also finds those
 * that are replaced, that stand behind the symbolic links of Kubernetes, and that lie on network disks, whose changes
 * the system reports to nobody.
 */
export class Reloader {
  readonly #config: CurrentConfig
  readonly #log: FastifyBaseLogger
  readonly #note: ReloaderParts['note']
  #file: string | null
  #settings: Settings
  #files: FilesRead
  #watched: readonly string[] = []
  #isLooking = false
  #isClosed = false
  #noting: Promise<void> = Promise.resolve()

  constructor({ boot, files, log, note }: ReloaderParts) {
    this.#config = boot.config
    this.#settings = boot.settings
    this.#file = boot.file
    this.#files = files
    this.#log = log
    this.#note = note
  }

  /** Begins to look at the files; what has changed since they were read at boot counts. */
  start(): void {
    this.#noteSettings()
    const pipe = this.#files.paths.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    if (pipe !== undefined) {
      this.#log.warn(`${pipe} is no regular file and can be read only once: the configuration is not reloaded`)
      this.#isClosed = true
      return
    }
    this.#watch()
    this.#look()
  }

  /** Reads everything again. Nothing waits in between: no request sees half of it, and no second reload begins meanwhile. */
  reload(): void {
    if (this.#isClosed) return
    const files = new FilesRead()
    try {
      this.#apply(loadConfig({ read: files.read }))
    } catch (error) {
      if (error instanceof ConfigError) this.#refuse(error.message.split('\n'))
      else this.#log.error({ err: error }, 'the configuration cannot be read again: nothing was changed')
    }
    this.#files = files
    this.#watch()
  }

  /** Stops looking, and waits for what is being noted; what is asked for from now on is not done. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const path of this.#watched) unwatchFile(path, this.#look)
    await this.#noting
  }

  readonly #look = (): void => {
    if (this.#isLooking) return
    this.#isLooking = true
    this.#lookUntilQuiet()
      .catch((error) => this.#log.error({ err: error }, 'the files of the configuration cannot be looked at'))
      .finally(() => {
        this.#isLooking = false
      })
  }

  /** Reads everything again if a file holds something else, once all of them hold the same twice. */
  async #lookUntilQuiet(): Promise<void> {
    for (let before = this.#files, now = before.again(); !now.isSameAs(this.#files); now = before.again()) {
      if (now.isSameAs(before)) return this.reload()
      before = now
      await sleep(quiet, undefined, { ref: false })
    }
  }

  #watch(): void {
    const { paths } = this.#files
    for (const path of this.#watched) if (!paths.includes(path)) unwatchFile(path, this.#look)
    for (const path of paths) {
      if (!this.#watched.includes(path)) watchFile(path, { interval: lookEvery, persistent: false }, this.#look)
    }
    this.#watched = paths
  }

  #apply({ settings, file, isEmpty, warnings }: Loaded): void {
    // A start would take it for a configuration without clients; while svc runs it is more likely being written.
    if (this.#file !== null && (file === null || isEmpty)) {
      const reason = file === null ? 'the configuration file cannot be read (ENOENT)' : 'the file is empty'
      this.#refuse([`${this.#file}: ${reason}`])
      return
    }
    const next = nextConfig(this.#settings, settings)
    const keys = (reload: 'live' | 'restart') => next.changes.filter((c) => c.reload === reload).map(({ key }) => key)
    const [changed, waiting] = [keys('live'), keys('restart')]
    const names = waiting.join(', ')
    if (next.problems.length > 0) {
      this.#refuse(next.problems, ` beside what waits for a restart (${names})`)
      return
    }
    const { secret } = this.#config.current().app
    this.#config.swap({ ...next.config, app: { ...next.config.app, secret } })
    this.#settings = next.settings
    this.#file = file
    if (changed.length > 0) this.#log.info({ changed }, 'the configuration was reloaded')
    else this.#log.info('the configuration was read again: nothing that takes effect live has changed')
    if (waiting.length > 0) this.#log.warn({ keys: waiting }, `a restart is needed for ${names}: the old values count`)
    for (const warning of warnings) this.#log.warn(warning)
    if (changed.length > 0) this.#noteSettings()
  }

  #refuse(problems: readonly string[], beside = ''): void {
    this.#log.error({ problems }, `the configuration is invalid${beside}: nothing was changed`)
  }

  #noteSettings(): void {
    const settings = this.#settings
    this.#noting = this.#noting
      .then(() => this.#note(settings))
      .catch((error) => this.#log.warn({ err: error }, 'what is in force could not be noted for svc:config:diff'))
  }
}
