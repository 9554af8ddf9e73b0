// node bench/readme.ts [--check]: writes the table in bench/README.md from results/latest.json. With --check it
// only compares, and fails if they differ.
import { updateReadme } from './support/readme.ts'

const check = process.argv.includes('--check')
const differs = updateReadme(check)
if (check && differs) {
  console.error('The table in bench/README.md differs from bench/results/latest.json: run node bench/readme.ts')
  process.exitCode = 1
}
