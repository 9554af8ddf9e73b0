import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../../app/app.ts'
import { CommandError, type Terminal } from '../../contract/command.ts'
import { openDatabase } from '../../platform/database/database.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { TestMailbox } from './mailbox.ts'
import { MovableClock } from './movable-clock.ts'
import { testSettings } from './settings.ts'
import { testRoutes } from './test-routes.ts'
import { createTestUsers, testUsers } from './users.ts'

const host = '127.0.0.1'

/** Returns a free port. `app.url` must be known before svc starts. */
function findPort(port: number): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new CommandError(`svc cannot listen on port ${port}: ${error.message}`)))
    server.listen({ host, port }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port))
    })
  })
}

const stopped = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })

interface Given {
  port: number
  config?: string | undefined
}

/** Runs a test server until a signal stops it. */
export async function serve({ print }: Terminal, given: Given): Promise<void> {
  const isStopped = stopped()
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-server-'))
  // Also if the process ends in another way than by a signal.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const port = await findPort(given.port)
  const config = testSettings({ file: given.config, port, folder })
  const clock = new MovableClock()
  const mailbox = new TestMailbox()
  const logger = createLogger('warn', process.stderr)
  const { database: where, app: service } = config.current()
  const database = await openDatabase({ ...where, file: where.file ?? undefined, logger })
  try {
    const app = await buildApp({ config, database, clock, logger, openTransport: async () => mailbox })
    try {
      await app.register(testRoutes, { mailbox, clock })
      await app.oauth.open()
      await createTestUsers(app)
      await app.listen({ host, port })
      print(JSON.stringify({ url: service.url, port, users: testUsers }))
      await isStopped
    } finally {
      await app.close()
    }
  } finally {
    await database.close()
  }
}
