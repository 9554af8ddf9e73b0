#!/usr/bin/env node
import { isatty } from 'node:tty'
import closeWithGrace from 'close-with-grace'
import { buildApp } from './app.ts'
import { exitOnError, loadSettings } from './boot.ts'
import { systemClock } from './clock.ts'
import { isLoopback } from './config/hosts.ts'
import { logLevel, wantsTraces } from './config/load.ts'
import type { Config, Settings } from './config/schema.ts'
import { keepSnapshot } from './database/config-snapshot.ts'
import { openDatabase } from './database/database.ts'
import { createLogger, standardOutput } from './observability/logging.ts'
import { FilesRead, Reloader } from './reload.ts'

/** Tests whether the process has a terminal. */
const hasTerminal = (): boolean => [0, 1, 2].some((descriptor) => isatty(descriptor))

/** How long requests may take to finish after SIGTERM, in milliseconds, and the remainder after draining. */
const grace = 9_000
const graceAfterDrain = 4_000

const stopSignals = ['SIGINT', 'SIGTERM'] as const
const endAtOnce = () => process.exit(0)

async function start(): Promise<void> {
  // No request is served yet. PID 1 of a container ignores signals without a listener.
  for (const signal of stopSignals) process.on(signal, endAtOnce)
  // Without a listener, a file that reaches the size limit of the process (ulimit -f) ends svc instead of failing a write.
  process.on('SIGXFSZ', () => undefined)
  // From here on SIGHUP does not end the process; an early one is handled after the start.
  let isAsked = false
  let onHangUp = () => {
    isAsked = true
  }
  process.on('SIGHUP', () => onHangUp())
  const hadTerminal = hasTerminal()
  const files = new FilesRead()
  const boot = loadSettings(files.read)
  const { config, file, warnings } = boot
  const { server, database: where } = config.current()
  const traces = wantsTraces()
  const output = standardOutput()
  const logger = createLogger(logLevel(), output)
  for (const warning of warnings) logger.warn(warning)
  const database = await openDatabase({ ...where, file: where.file ?? undefined, logger })
  const app = await buildApp({ config, database, clock: systemClock, logger, traces })
  const note = (settings: Settings) => keepSnapshot(database, config.current().app.secret, settings, systemClock.now())
  const reloader = new Reloader({ boot, files, log: logger, note })
  const onTimeout = () => logger.error('stopping with requests still in flight')
  const delay = Math.max(grace, server.drain + graceAfterDrain)
  closeWithGrace({ delay, logger: false, onTimeout, skip: ['SIGHUP'] }, async ({ err }) => {
    if (err) logger.error({ err }, 'unexpected error: stopping')
    const noted = reloader.close()
    await app.close()
    await noted
    await database.close()
    output.flushSync()
  })
  for (const signal of stopSignals) process.off(signal, endAtOnce)
  // Before the first request: svc must not start without readable signing keys.
  await app.oauth.open()
  await app.listen({ host: server.host, port: server.port, listenTextResolver: (address) => `listening on ${address}` })
  reloader.start()
  onHangUp = () => {
    if (!hadTerminal || hasTerminal()) return reloader.reload()
    // The terminal is closed, so pending output would wait forever.
    output.destroy()
    process.exit()
  }
  if (isAsked) onHangUp()
  // Through the log stream, so that it does not split a log line.
  const listening = app.server.address()
  const port = typeof listening === 'object' && listening ? listening.port : server.port
  if (config.current().app.environment === 'development') output.write(whereToLook(config.current(), file, port))
}

function whereToLook({ app, database, test_page }: Config, file: string | null, port: number): string {
  const { protocol, hostname } = new URL(app.url)
  // PORT changes the server but not app.url; the printed URL must be reachable.
  const url = protocol === 'http:' && isLoopback(hostname) ? `http://${hostname}:${port}` : app.url
  return `
  ${app.name} is ready at ${url}

  Database         ${database.file ?? 'PostgreSQL'}
  Configuration    ${file ?? 'none (all defaults)'}
  API description  ${url}/openapi.json
${test_page ? `  Test page        ${url}/test-login\n` : ''}
  Create the first user:
    npm run --silent svc -- user:create --email=you@example.com --name="Your Name" --verified

`
}

await start().catch(exitOnError)
