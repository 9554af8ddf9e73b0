import { checkFeatures } from '../features.ts'
import type { Finding, Report } from '../findings.ts'
import type { Config } from '../schema.ts'
import { adminChecks } from './admin.ts'
import { apiChecks } from './apis.ts'
import { claimChecks } from './claims.ts'
import { clientChecks } from './clients.ts'
import { groupChecks } from './groups.ts'
import { guardChecks } from './guard.ts'
import { hookChecks } from './hooks.ts'
import { sectionChecks } from './sections.ts'
import { signalChecks } from './shared-signals.ts'
import { userFieldChecks } from './user-fields.ts'
import { webhookChecks } from './webhooks.ts'

/** Returns all problems between keys that are valid on their own. */
export function crossFindings(config: Config): Finding[] {
  const findings: Finding[] = []
  const report: Report = (path, message, first) => findings.push({ path, message, ...(first && { first }) })
  for (const check of [
    ...sectionChecks,
    ...clientChecks,
    ...adminChecks,
    ...apiChecks,
    ...guardChecks,
    ...groupChecks,
    ...claimChecks,
    ...userFieldChecks,
    ...webhookChecks,
    ...hookChecks,
    ...signalChecks,
    checkFeatures,
  ])
    check(config, report)
  return findings
}
