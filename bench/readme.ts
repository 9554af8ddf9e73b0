// node bench/readme.ts [--check]: writes the tables in README.md, bench/README.md,
// bench/peers.md and docs/scaling.md from bench/results. With
// --check it only compares, and fails if they differ.
import { updatePeers } from './peers/readme.ts'
import { updateCosts } from './support/costs-report.ts'
import { updateReadme } from './support/readme.ts'
import { updateSavings } from './support/savings-readme.ts'
import { updateScale } from './support/scale-readme.ts'
import { updateSoak } from './support/soak-readme.ts'

const check = process.argv.includes('--check')
const isChanged = [updateReadme(check), updateScale(check), updateSoak(check), updateSavings(check)].includes(true)
const differing = [...(isChanged ? ['bench/README.md'] : []), ...updatePeers(check), ...updateCosts(check)]
if (check && differing.length > 0) {
  console.error(`${differing.join(', ')} differ from bench/results: run node bench/readme.ts`)
  process.exitCode = 1
}
