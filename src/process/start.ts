import { ConfigError } from '../platform/config/config-error.ts'
import type { ReadFile } from '../platform/config/load.ts'
import { BootFiles, readRecorded } from '../platform/workers/boot-files.ts'
import { workerCount } from '../platform/workers/count.ts'
import { WorkerLink } from '../platform/workers/link.ts'
import { type BootSettings, exitOnError, loadSettings } from './boot.ts'
import { HangUps } from './hang-ups.ts'
import { FilesRead } from './reload.ts'

/** Starts svc, or ends the process with the reason. `isHandled` is called when this process handles stop signals. */
export const start = (isHandled: () => void): Promise<void> =>
  startProcess(isHandled).catch((error) => {
    exitOnError(error, isProduction || (error instanceof ConfigError && error.isForProduction))
  })

/** Whether even the reason why svc cannot start is a log line. */
let isProduction = false

function load(read: ReadFile): BootSettings {
  const boot = loadSettings(read)
  isProduction = boot.config.current().app.environment === 'production'
  return boot
}

async function startProcess(isHandled: () => void): Promise<void> {
  // Without a listener, a write beyond the file size limit of the process (ulimit -f) would end svc instead of failing.
  process.on('SIGXFSZ', () => undefined)
  const hangUps = new HangUps()
  if (WorkerLink.isWorker()) return startWorker(hangUps, isHandled)
  const read = new BootFiles()
  const files = new FilesRead(read.read)
  const boot = load(files.read)
  const count = workerCount(boot.config.current())
  // The primary loads only what it needs.
  if (count === 1) await (await import('./serve.ts')).serve({ boot, files, hangUps, worker: null, isHandled })
  else await (await import('./supervise.ts')).supervise({ boot, files: read.all, count, hangUps, isHandled })
}

async function startWorker(hangUps: HangUps, isHandled: () => void): Promise<void> {
  const worker = await WorkerLink.open()
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => worker.leave(false))
  isHandled()
  const files = new FilesRead(readRecorded(worker.files))
  const boot = load(files.read)
  const { serve } = await import('./serve.ts')
  await serve({ boot, files, hangUps, worker, isHandled: () => undefined })
}
