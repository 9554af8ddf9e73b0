/** A problem in the configuration; `line` is 0 if the value comes from the environment. */
export interface Problem {
  file: string
  line: number
  key: string
  message: string
}

/** Thrown with all problems of a configuration, one per line. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[]
  /** Whether the file is for production, as far as svc could read it. */
  readonly isForProduction: boolean

  constructor(problems: readonly Problem[], isForProduction = false) {
    super(problems.map(describe).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
    this.isForProduction = isForProduction
  }
}

/** Formats a problem with its position. */
export function describe({ file, line, key, message }: Problem): string {
  const place = line === 0 ? file : `${file}:${line}`
  return key === '' ? `${place}: ${message}` : `${place}: ${key}: ${message}`
}
