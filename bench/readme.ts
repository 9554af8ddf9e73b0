// node bench/readme.ts [--check]: writes the README's table of measurements from results/latest.json; with --check it
// only compares, and fails when they differ.
import { updateReadme } from './support/readme.ts'

const check = process.argv.includes('--check')
const differs = updateReadme(check)
if (check && differs) {
  console.error('README.md does not show the figures of bench/results/latest.json: run node bench/readme.ts')
  process.exitCode = 1
}
