// npm run simulate -- --seed N --steps M [--without 1,2,…] [--trace] [--shrink] [--stop]: runs svc's code on a real PostgreSQL with two
// replicas, lets their statements pass in an order that follows from the seed, and checks what must always hold.
import { parseArgs } from 'node:util'
import { startPostgresql } from '../support/postgresql-server.ts'
import type { Plan } from './simulation.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    steps: { type: 'string', default: '1500' },
    without: { type: 'string', default: '' },
    trace: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    stop: { type: 'boolean', default: false },
  },
})
const [first, count, steps] = [values.seed, values.seeds, values.steps].map(Number)
if (![first, count, steps].every((value) => Number.isSafeInteger(value)))
  fail('--seed, --seeds and --steps must be integers')

const server = await startPostgresql()
process.env.SVC_TEST_ENGINE = 'postgresql'
process.env.SVC_TEST_POSTGRES_URL = server.url
// After the variables are set, because the helpers of the tests read them when they are loaded.
const { simulate, shrink } = await import('./simulation.ts')
try {
  for (let seed = first ?? 1; seed < (first ?? 1) + (count ?? 1); seed++) {
    const without = new Set(values.without.split(',').filter(Boolean).map(Number))
    let plan: Plan = { seed, steps: steps ?? 1_500, without }
    let outcome = await simulate(plan)
    if (outcome.violations.length > 0 && values.shrink) {
      plan = await shrink(plan, (text) => process.stdout.write(`${text}\n`))
      outcome = await simulate(plan)
    }
    if (values.trace) process.stdout.write(`${outcome.trace.join('\n')}\n`)
    for (const violation of outcome.violations) process.stdout.write(`${violation}\n`)
    const again = `--seed ${seed} --steps ${plan.steps}${plan.without.size > 0 ? ` --without ${[...plan.without]}` : ''}`
    process.stdout.write(`${again}: ${outcome.trace.length} lines, ${outcome.violations.length} violations\n`)
    if (outcome.violations.length > 0) process.exitCode = 1
    if (outcome.violations.length > 0 && values.stop) break
  }
} finally {
  await server.stop()
}
process.exit()

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}
