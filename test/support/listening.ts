import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import type { Settings } from './app.ts'
import { createTestDatabase } from './postgresql.ts'
import { freePort, type Running, runCli, startMain, temporaryDirectory } from './process.ts'

/** The person in front of the browser. */
export const ada = { email: 'ada@example.com', password: 'correct horse' }

/** Starts svc under its own address with one user, as an operator would. */
export async function startWithAda(
  t: Test,
  env: Record<string, string> = {},
  settings: Settings = {},
): Promise<Running> {
  const database = await createTestDatabase()
  t.teardown(database.drop)
  const cwd = temporaryDirectory(t)
  const port = await freePort()
  const app = { url: `http://localhost:${port}`, ...Object(settings.app) }
  writeFileSync(join(cwd, 'svc.yaml'), stringify({ ...settings, app }))
  const all = {
    DATABASE_URL: database.url,
    SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long',
    SVC_CONFIG: 'svc.yaml',
    PORT: String(port),
    ...env,
  }
  const create = ['user:create', `--email=${ada.email}`, '--name=Ada', '--verified']
  const made = await runCli(create, { cwd, env: all, input: `${ada.password}\n` })
  if (made.code !== 0) throw new Error(made.stderr)
  return startMain(t, { cwd, env: all })
}
