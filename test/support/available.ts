import type { Test } from 'tap'

/** Returns whether the programs of a test are installed. In CI a missing one fails the test; elsewhere the test is skipped. */
export function isAvailable(t: Test, isFound: boolean, line: string): boolean {
  if (isFound) return true
  process.stderr.write(`*** ${line} ***\n`)
  if (process.env.CI) t.fail(line)
  else t.pass(line, { skip: true })
  return false
}
