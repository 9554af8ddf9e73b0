import t from 'tap'
import { ConfigError, type Problem } from '../../../src/platform/config/config-error.ts'
import { parseConfig } from '../../../src/platform/config/load.ts'
import type { Config } from '../../../src/platform/config/schema.ts'

type Env = Record<string, string | undefined>

/** A secret that production accepts. */
export const SECRET = 'Wm1Nn6tF3zq0bD8yXc5RkV2uJh9sLgPeA7oTiQ4M'

/** Loads a configuration from a text and an environment. */
export function configOf(text: string, env: Env = {}, cwd = '/srv'): Config {
  return parseConfig({ text, file: 'svc.yaml', env, cwd }).config
}

/** All problems of a text and an environment. */
export function problemsOf(text: string, env: Env = {}, cwd = '/srv'): readonly Problem[] {
  return errorOf(text, env, cwd).problems
}

/** The same as printed lines. */
export function linesOf(text: string, env: Env = {}, cwd = '/srv'): string[] {
  return errorOf(text, env, cwd).message.split('\n')
}

function errorOf(text: string, env: Env, cwd: string): ConfigError {
  try {
    configOf(text, env, cwd)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  return new ConfigError([])
}

/** The content of a file, the rejected key, and a word of the reason; without a key the file is valid. */
type Case = readonly [text: string, key?: string, reason?: RegExp]

/** Tests many small files. */
export function table(name: string, cases: readonly Case[]): void {
  t.test(name, (t) => {
    for (const [text, key, reason] of cases) {
      const problems = problemsOf(text)
      t.strictSame(
        problems.map((problem) => problem.key),
        key === undefined ? [] : [key],
        text,
      )
      if (reason) t.match(problems[0]?.message, reason, text)
    }
    t.end()
  })
}
