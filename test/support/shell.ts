import type { Test } from 'tap'
import { createTestDatabase, type TestDatabase } from './postgresql.ts'
import { type ProcessResult, runCli, temporaryDirectory } from './process.ts'

/** A database, and commands that run on it. */
export interface Shell {
  database: TestDatabase
  cwd: string
  env: Record<string, string>
  run(input: string, ...args: string[]): Promise<ProcessResult>
}

/** Opens a shell on a separate database. */
export async function openShell(t: Test): Promise<Shell> {
  const database = await createTestDatabase()
  t.teardown(database.drop)
  const cwd = temporaryDirectory(t)
  const env = {
    DATABASE_URL: database.url,
    SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long',
    SVC_URL: 'http://localhost:8000',
  }
  return { database, cwd, env, run: (input, ...args) => runCli(args, { cwd, env, input }) }
}

/** The command failed with one line on standard error, and nothing else. */
export function failed(t: Test, { code, stdout, stderr }: ProcessResult, pattern: RegExp): void {
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, pattern)
  t.notMatch(stderr, / {4}at /, 'no stack trace')
}

/** The command failed with the body that the same error has over HTTP. */
export function invalid(t: Test, ended: ProcessResult, errors: Record<string, string[]>): void {
  failed(t, ended, /^\{.*\}\n$/)
  t.match(JSON.parse(ended.stderr), { message: String, code: 'validation_failed' })
  t.same(JSON.parse(ended.stderr).errors, errors)
}
