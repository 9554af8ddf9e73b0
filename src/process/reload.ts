import { statSync, unwatchFile, watchFile } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { ConfigError } from '../platform/config/config-error.ts'
import type { CurrentConfig } from '../platform/config/current.ts'
import { readSource, watchedPath } from '../platform/config/files.ts'
import { type Loaded, loadConfig, type ReadFile } from '../platform/config/load.ts'
import { nextConfig } from '../platform/config/next.ts'
import type { Settings } from '../platform/config/schema.ts'
import { shownLater } from '../platform/config/shown.ts'
import { sha256Hex } from '../platform/crypto/hash.ts'
import { type BootFile, BootFiles } from '../platform/workers/boot-files.ts'
import type { ReloadResult } from '../platform/workers/reload-result.ts'
import type { BootSettings } from './boot.ts'

/** Polling interval in milliseconds. */
const pollInterval = 1_000

/** How long a changed file must stay unchanged before svc reads it, in milliseconds. Before that, it may be half written. */
const stableTime = 200

/** Reads files and remembers their contents: the configuration and secret files. */
export class FilesRead {
  readonly #held = new Map<string, string>()
  readonly #source: ReadFile

  constructor(source: ReadFile = readSource) {
    this.#source = source
  }

  readonly read: ReadFile = (path) => {
    try {
      const text = this.#source(path)
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

  /** Tests whether all files have the same contents in both reads. */
  isSameAs(others: FilesRead): boolean {
    return this.paths.every((path) => this.#held.get(path) === others.#held.get(path))
  }

  /** Reads the same files again. */
  again(): FilesRead {
    const now = new FilesRead()
    for (const path of this.paths) {
      try {
        now.read(path)
      } catch {
        // An unreadable file is remembered too.
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
  /** Saves the active configuration in the database, at boot and after each change. */
  note: (settings: Settings) => Promise<void>
  /** Receives the files of each successful reload. */
  keep?: ((files: readonly BootFile[]) => void) | undefined
}

/**
 * Reloads the configuration on request and when a file changes, between two requests. An invalid configuration changes
 * nothing. Polls every second by path, which also detects replaced files, Kubernetes symlinks and network disks without
 * change events.
 */
export class Reloader {
  readonly #config: CurrentConfig
  readonly #log: FastifyBaseLogger
  readonly #note: ReloaderParts['note']
  readonly #keep: ReloaderParts['keep']
  #file: string | null
  #settings: Settings
  #files: FilesRead
  #watched: readonly string[] = []
  #isLooking = false
  #isClosed = false
  #whyClosed = 'svc is stopping'
  #noting: Promise<void> = Promise.resolve()

  constructor({ boot, files, log, note, keep }: ReloaderParts) {
    this.#keep = keep
    this.#config = boot.config
    this.#settings = boot.settings
    this.#file = boot.file
    this.#files = files
    this.#log = log
    this.#note = note
  }

  /** Starts polling. Also reloads if a file has changed since boot. */
  start(): void {
    this.#noteSettings()
    const pipe = this.#files.paths.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    if (pipe !== undefined) {
      this.#whyClosed = `${pipe} is not a regular file and can be read only once; configuration reload is off`
      this.#log.warn(this.#whyClosed)
      this.#isClosed = true
      return
    }
    this.#watch()
    this.#look()
  }

  /**
   * Reloads everything synchronously, so that no request sees a partial state and no second reload overlaps. `source`
   * replaces the file system.
   */
  reload(source?: ReadFile): ReloadResult {
    if (this.#isClosed) return { accepted: false, problems: [this.#whyClosed] }
    const recorded = new BootFiles(source)
    const files = new FilesRead(recorded.read)
    const result = this.#load(files)
    if (result.accepted) this.#keep?.(recorded.all)
    this.#files = files
    this.#watch()
    return result
  }

  /** Stops polling and waits for the current save. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const path of this.#watched) unwatchFile(path, this.#look)
    await this.#noting
  }

  readonly #look = (): void => {
    if (this.#isLooking || this.#isClosed) return
    this.#isLooking = true
    this.#lookUntilQuiet()
      .catch((error) => this.#log.error({ err: error }, 'cannot read the configuration files'))
      .finally(() => {
        this.#isLooking = false
      })
  }

  /** Reloads if a file changed, once all files are unchanged in two consecutive reads. */
  async #lookUntilQuiet(): Promise<void> {
    for (let before = this.#files, now = before.again(); !now.isSameAs(this.#files); now = before.again()) {
      if (now.isSameAs(before)) return void this.reload()
      before = now
      await sleep(stableTime, undefined, { ref: false })
    }
  }

  #watch(): void {
    const paths = [...new Set(this.#files.paths.map(watchedPath))]
    for (const path of this.#watched) if (!paths.includes(path)) unwatchFile(path, this.#look)
    const added = paths.filter((path) => !this.#watched.includes(path))
    for (const path of added) watchFile(path, { interval: pollInterval, persistent: false }, this.#look)
    // A watcher does not report changes from before its first poll, so svc checks once itself.
    if (added.length > 0) setTimeout(this.#look, pollInterval).unref()
    this.#watched = paths
  }

  #load(files: FilesRead): ReloadResult {
    try {
      return this.#apply(loadConfig({ read: files.read }))
    } catch (error) {
      if (error instanceof ConfigError) return this.#refuse(error.message.split('\n'))
      this.#log.error({ err: error }, 'configuration reload failed, keeping the active configuration')
      return { accepted: false, problems: [`unexpected error, see the log (${(error as Error).message})`] }
    }
  }

  #apply(loaded: Loaded): ReloadResult {
    const { file, isEmpty, warnings } = loaded
    // At boot, a missing or empty file means the defaults. Later, an editor is more likely still writing the file.
    if (this.#file !== null && (file === null || isEmpty)) {
      const reason = file === null ? 'the configuration file cannot be read (no such file)' : 'the file is empty'
      return this.#refuse([`${this.#file}: ${reason}`])
    }
    const next = nextConfig(this.#settings, loaded)
    const keys = (reload: 'live' | 'restart') => next.changes.filter((c) => c.reload === reload).map(({ key }) => key)
    const [changed, waiting] = [keys('live'), keys('restart')]
    const names = waiting.join(', ')
    if (next.problems.length > 0) {
      return this.#refuse(next.problems, ` without the keys that need a restart (${names})`)
    }
    const { secret } = this.#config.current().app
    const shown = shownLater(next.config, { settings: next.settings, originOf: loaded.originOf })
    this.#config.swap({ ...next.config, app: { ...next.config.app, secret } }, shown)
    this.#settings = next.settings
    this.#file = file
    if (changed.length > 0) this.#log.info({ changed }, 'configuration reloaded')
    else this.#log.info('configuration reloaded without live changes')
    if (waiting.length > 0) this.#log.warn({ keys: waiting }, `restart required for ${names}, keeping the old values`)
    for (const warning of warnings) this.#log.warn(warning)
    if (changed.length > 0) this.#noteSettings()
    return { accepted: true, changed, waiting, warnings }
  }

  #refuse(problems: string[], beside = ''): ReloadResult {
    this.#log.error({ problems }, `the configuration is invalid${beside}, keeping the active configuration`)
    return { accepted: false, problems: beside ? problems.map((problem) => `${problem} (invalid${beside})`) : problems }
  }

  #noteSettings(): void {
    const settings = this.#settings
    this.#noting = this.#noting
      .then(() => this.#note(settings))
      .catch((error) => this.#log.warn({ err: error }, 'could not save the active configuration'))
  }
}
