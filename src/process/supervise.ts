import closeWithGrace from 'close-with-grace'
import { configPath, runDirectory } from '../platform/config/load.ts'
import { logLibraries } from '../platform/observability/libraries.ts'
import { createLogger } from '../platform/observability/logging.ts'
import { MetricsListener } from '../platform/observability/metrics/listener.ts'
import { standardOutput } from '../platform/observability/output.ts'
import { logLines } from '../platform/observability/readable.ts'
import type { BootFile } from '../platform/workers/boot-files.ts'
import { FirstWorkerError, Primary } from '../platform/workers/primary.ts'
import type { BootSettings } from './boot.ts'
import { RunDirectory } from './control/run-directory.ts'
import { ControlServer } from './control/server.ts'
import type { HangUps } from './hang-ups.ts'
import { stopped, stopTimeout } from './stop-timeout.ts'

/** The primary kills workers this long after their own timeout, in milliseconds. */
const killAfter = 1_000

interface Supervised {
  boot: BootSettings
  files: readonly BootFile[]
  count: number
  hangUps: HangUps
  /** Called when stop signals are handled. */
  isHandled(): void
}

/** Serves requests by several workers until the process is asked to stop. */
export async function supervise({ boot, files, count, hangUps, isHandled }: Supervised): Promise<void> {
  const { server, metrics: wanted } = boot.config.current()
  const output = standardOutput({ isShared: true })
  const log = createLogger(boot.config.current().log.level, await logLines(output, boot.config.current()))
  logLibraries(log)
  for (const warning of boot.warnings) log.warn(warning)
  // Loaded only with metrics, for the memory of the primary.
  const { WorkerMetrics } =
    wanted.port === null ? { WorkerMetrics: null } : await import('../platform/workers/worker-metrics.ts')
  const metrics = WorkerMetrics && new WorkerMetrics(() => primary.running())
  const primary = new Primary({ count, port: server.port, files, log, metrics })
  if (metrics && wanted.port !== null) {
    const listener = new MetricsListener(async () => metrics.text(await primary.metrics()), log)
    await listener.open({ host: server.host, port: wanted.port })
  }
  const delay = stopTimeout(boot.config.current()) + killAfter
  let control: ControlServer | null = null
  closeWithGrace(
    { delay, logger: false, onTimeout: () => primary.kill(), skip: ['SIGHUP'] },
    async ({ err, signal }) => {
      const begin = performance.now()
      control?.close()
      if (signal) log.info({ signal }, `svc received ${signal} and stops`)
      if (err) log.error({ err }, 'unexpected error: stopping')
      const isComplete = await primary.stop()
      log.info(...stopped(begin))
      output.flushSync()
      if (!isComplete) process.exit(1)
    },
  )
  isHandled()
  hangUps.handle(
    () => void primary.reload(),
    () => process.exit(),
  )
  await primary.start().catch((error) => {
    // The worker has printed why.
    if (error instanceof FirstWorkerError) process.exit(error.exitCode)
    throw error
  })
  log.info({ workers: count }, 'workers started')
  const directory = new RunDirectory(runDirectory(), configPath())
  control = await ControlServer.open(directory, () => primary.reload(), log)
}
