import type { Finding } from '../findings.ts'
import type { Config } from '../schema.ts'

/** Everything wrong in how valid keys go together. */
export function crossFindings(_config: Config): Finding[] {
  return []
}
