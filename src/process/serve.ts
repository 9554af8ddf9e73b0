import closeWithGrace from 'close-with-grace'
import { buildApp } from '../app/app.ts'
import { hasUsers } from '../identity/users.ts'
import { systemClock } from '../platform/clock.ts'
import { commandName } from '../platform/command-name.ts'
import { isLoopback } from '../platform/config/hosts.ts'
import { configPath, runDirectory, wantsTraces } from '../platform/config/load.ts'
import type { Config, Settings } from '../platform/config/schema.ts'
import { keepSnapshot } from '../platform/database/config-snapshot.ts'
import { type Database, openDatabase } from '../platform/database/database.ts'
import { listenHost } from '../platform/http/listen.ts'
import { logLibraries } from '../platform/observability/libraries.ts'
import { createLogger } from '../platform/observability/logging.ts'
import { standardOutput } from '../platform/observability/output.ts'
import { logLines } from '../platform/observability/readable.ts'
import { readRecorded } from '../platform/workers/boot-files.ts'
import { transactionConnections } from '../platform/workers/count.ts'
import type { WorkerLink } from '../platform/workers/link.ts'
import type { BootSettings } from './boot.ts'
import { RunDirectory } from './control/run-directory.ts'
import { ControlServer } from './control/server.ts'
import type { HangUps } from './hang-ups.ts'
import { type FilesRead, Reloader } from './reload.ts'
import { backgroundTimeout, refuseAllAfter, refuseWaitingAfter, stopped, stopTimeout } from './stop-timeout.ts'

/** How long svc waits for a PostgreSQL that starts, in milliseconds. */
const patience = 60_000

interface Served {
  boot: BootSettings
  files: FilesRead
  hangUps: HangUps
  /** Null if this process is the only one. */
  worker: WorkerLink | null
  /** Called when stop signals are handled. */
  isHandled(): void
}

/** Frees the memory that only the start needed, 20 MB, which V8 would otherwise keep. Needs the flag `--expose-gc`. */
const freeStartMemory = () => globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'async' })

/** Serves requests until the process is asked to stop. */
export async function serve({ boot, files, hangUps, worker, isHandled }: Served): Promise<void> {
  const { config, file, warnings } = boot
  const { server, database: where } = config.current()
  const traces = wantsTraces()
  const output = standardOutput({ isShared: worker !== null })
  const lines = await logLines(output, config.current())
  const logger = createLogger(config.current().log.level, lines, worker && { worker: worker.number })
  config.watch(() => {
    logger.level = config.current().log.level
  })
  logLibraries(logger)
  if (!worker) for (const warning of warnings) logger.warn(warning)
  const opened = Promise.withResolvers<Database>()
  const note = async (settings: Settings) => {
    if (worker && worker.number > 1) return
    await keepSnapshot(await opened.promise, config.current().app.secret, settings, systemClock.now())
  }
  const reloader = new Reloader({ boot, files, log: logger, note, keep: worker?.keepReloaded })
  // Before the database opens, because a reload may have changed its password.
  if (worker?.reloaded) reloader.reload(readRecorded(worker.reloaded))
  const database = await openDatabase({
    ...where,
    url: config.current().database.url,
    currentUrl: () => config.current().database.url,
    file: where.file ?? undefined,
    logger,
    connections: transactionConnections(worker),
    patience,
  })
  opened.resolve(database)
  const app = await buildApp({ config, database, clock: systemClock, logger, traces, worker })
  const onTimeout = () => {
    const requests = app.stopping.unanswered()
    if (requests > 0) logger.error({ requests }, 'stopped with requests in flight')
    else endBackground()
  }
  // A database or a mail server that does not answer must not delay the end of a process without requests.
  const endBackground = () => {
    logger.warn('stopped before background work ended; it continues after the next start')
    output.flushSync()
    process.exit(0)
  }
  // Workers leave the signals to the primary.
  const skip = worker ? (['SIGHUP', 'SIGINT', 'SIGTERM'] as const) : (['SIGHUP'] as const)
  const delay = stopTimeout(config.current())
  let control: ControlServer | null = null
  const stopping = closeWithGrace({ delay, logger: false, onTimeout, skip: [...skip] }, async ({ err, signal }) => {
    const begin = performance.now()
    if (signal) logger.info({ signal }, `svc received ${signal} and stops`)
    if (err) {
      logger.error({ err }, 'unexpected error: stopping')
      app.stopping.isReplaced = worker !== null
      worker?.leave(true)
    }
    control?.close()
    const noted = reloader.close()
    // Otherwise, the timeout would cut off requests whose passwords wait for a hashing thread.
    setTimeout(() => app.hashing.refuseWaiting(), refuseWaitingAfter(config.current())).unref()
    setTimeout(() => app.hashing.refuseAll(), refuseAllAfter(config.current())).unref()
    app.server.once('close', () => setTimeout(endBackground, backgroundTimeout).unref())
    await app.close()
    await noted
    await database.close()
    if (!worker) logger.info(...stopped(begin))
    output.flushSync()
  })
  isHandled()
  let isStopping = false
  worker?.handle({
    reload: () => reloader.reload(),
    stop: ({ isWhole, isLoadBalanced }) => {
      app.stopping.isReplaced = !isWhole
      if (isLoadBalanced) app.stopping.askedAt = performance.now()
      if (!isStopping) stopping.close()
      isStopping = true
    },
  })
  // Opens the signing keys before the first request: svc must not start if it cannot read them.
  await app.oauth.open()
  await app.listen({
    host: await listenHost(server.host),
    port: server.port,
    listenTextResolver: (address) => `listening on ${address}`,
  })
  reloader.start()
  hangUps.handle(
    () => void reloader.reload(),
    () => {
      // The terminal is closed, so pending output would wait forever.
      output.destroy()
      process.exit()
    },
  )
  const listening = app.server.address()
  const { address, port } = typeof listening === 'object' && listening ? listening : { address: '', port: server.port }
  const directory = new RunDirectory(runDirectory(), configPath())
  if (!worker) control = await ControlServer.open(directory, async () => reloader.reload(), logger)
  if (!worker || worker.isFirst) noteAddress(directory, address, port)
  // This comes last, because loading the OAuth library blocks the process for a moment.
  void app.oauth.prepare().then(freeStartMemory)
  if (worker && !worker.isFirst) return
  // Writes to the log stream, so that the text does not split a log line.
  if (config.current().app.environment !== 'development') return
  output.write(whereToLook(config.current(), { file, port, isUsed: await hasUsers(database) }))
}

/** Without a directory, the health check asks `PORT`. */
function noteAddress(directory: RunDirectory, address: string, port: number): void {
  try {
    directory.noteAddress(/^(::|0\.0\.0\.0)$/.test(address) ? '127.0.0.1' : address, port)
  } catch {
    // The log says that the directory cannot be used, because the control socket needs it too.
  }
}

interface Circumstances {
  file: string | null
  port: number
  /** There is a user. */
  isUsed: boolean
}

const firstUser = `
  Create a user:
    ${commandName} user:create --email=you@example.com --name="Your Name" --verified
`

function whereToLook({ app, database, mail, test_page }: Config, { file, port, isUsed }: Circumstances): string {
  const { protocol, hostname } = new URL(app.url)
  // server.port may differ from app.url; the printed URL must be reachable.
  const url = protocol === 'http:' && isLoopback(hostname) ? `http://${hostname}:${port}` : app.url
  return `
  ${app.name} is ready at ${url}

  Database         ${database.file ?? 'PostgreSQL'}
  Configuration    ${file ?? 'none (all defaults)'}
  API description  ${url}/openapi.json
${mail.url === 'log:' ? '  Mails            printed here, until mail.url is set\n' : ''}${test_page ? `  Test page        ${url}/test-login\n` : ''}${isUsed ? '' : firstUser}
`
}
