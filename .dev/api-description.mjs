// The API description of a server with this configuration. Without one, it has no development pages.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../src/app/app.ts'
import { systemClock } from '../src/platform/clock.ts'
import { CurrentConfig } from '../src/platform/config/current.ts'
import { parseConfig } from '../src/platform/config/load.ts'
import { openDatabase } from '../src/platform/database/database.ts'
import { createLogger } from '../src/platform/observability/logging.ts'

export async function apiDescription(text = 'samples: false\ntest_page: false\n') {
  const cwd = mkdtempSync(join(tmpdir(), 'svc-description-'))
  const { config } = parseConfig({ text, file: 'svc.yaml', env: { SVC_SECRET: 'x'.repeat(32) }, cwd })
  const logger = createLogger('fatal')
  const database = await openDatabase({ ...config.database, logger })
  const app = await buildApp({ config: new CurrentConfig({ ...config }), database, clock: systemClock, logger })
  try {
    return (await app.inject('/openapi.json')).json()
  } finally {
    await app.close()
    await database.close()
    rmSync(cwd, { recursive: true, force: true })
  }
}
