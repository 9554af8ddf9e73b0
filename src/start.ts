import { exitOnError, loadSettings } from './boot.ts'
import { HangUps } from './hang-ups.ts'
import { FilesRead } from './reload.ts'
import { BootFiles, readRecorded } from './workers/boot-files.ts'
import { workerCount } from './workers/count.ts'
import { WorkerLink } from './workers/link.ts'

const stopSignals = ['SIGINT', 'SIGTERM'] as const

/** Handles stop signals during the start. Returns a function that removes the handlers. */
function handleSignals(stop: () => void): () => void {
  for (const signal of stopSignals) process.on(signal, stop)
  return () => {
    for (const signal of stopSignals) process.off(signal, stop)
  }
}

async function start(): Promise<void> {
  // Without a listener, a write beyond the file size limit of the process (ulimit -f) would end svc instead of failing.
  process.on('SIGXFSZ', () => undefined)
  const hangUps = new HangUps()
  if (WorkerLink.isWorker()) return startWorker(hangUps)
  // svc can exit at once, because it serves no requests yet. As PID 1 of a container, it needs listeners to get signals.
  const isHandled = handleSignals(() => process.exit(0))
  const read = new BootFiles()
  const files = new FilesRead(read.read)
  const boot = loadSettings(files.read)
  const count = workerCount(boot.config.current())
  // The primary loads only what it needs.
  if (count === 1) await (await import('./serve.ts')).serve({ boot, files, hangUps, worker: null, isHandled })
  else await (await import('./supervise.ts')).supervise({ boot, files: read.all, count, hangUps, isHandled })
}

async function startWorker(hangUps: HangUps): Promise<void> {
  const worker = await WorkerLink.open()
  handleSignals(() => worker.leave(false))
  const files = new FilesRead(readRecorded(worker.files))
  const boot = loadSettings(files.read)
  const { serve } = await import('./serve.ts')
  await serve({ boot, files, hangUps, worker, isHandled: () => undefined })
}

await start().catch(exitOnError)
