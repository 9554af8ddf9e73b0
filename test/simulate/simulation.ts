import { setImmediate as turn } from 'node:timers/promises'
import { hour } from '../support/clock.ts'
import { accessOperations } from './access-operations.ts'
import { type Fate, Gate } from './gate.ts'
import { operations as credentialOperations } from './operations.ts'
import { Random } from './random.ts'
import { limits, startReplicas } from './replicas.ts'
import { createWorld, type World } from './world.ts'

/** What to run. The seed decides about everything else. */
export interface Plan {
  seed: number
  steps: number
  /** Operations to leave out, by their number. */
  without: ReadonlySet<number>
}

export interface Outcome {
  violations: string[]
  /** What happened, one line for each step; the same for the same plan. */
  trace: string[]
}

/** The operations to choose from. */
const operations = [...credentialOperations, ...accessOperations]

/** Maximum number of operations at once. */
const parallel = 6

/** The patches of the gate apply to the whole process. */
const gate = new Gate()

/** Runs a plan on a new database. */
export async function simulate({ seed, steps, without }: Plan): Promise<Outcome> {
  const replicas = await startReplicas(gate)
  const { random: former } = Math
  const random = new Random(seed)
  // svc itself uses random numbers, for example for the pause before a retry.
  Math.random = new Random(seed + 1).next
  const trace: string[] = []
  try {
    const world = await createWorld(replicas, trace)
    const running = new Map<number, Promise<void>>()
    gate.close()
    let begun = 0
    const begin = () => {
      const id = ++begun
      // Each operation has its own random numbers, so that leaving out others does not change what it does.
      const own = new Random(seed * 7_919 + id)
      const operation = own.pick(operations)
      if (without.has(id)) return
      trace.push(`begin ${id}: ${operation.name}`)
      const work = gate
        .run(id, () => operation.run(world, own))
        .catch((error) => world.violated(`${operation.name}: ${error}`))
      running.set(
        id,
        work.finally(() => running.delete(id)),
      )
    }
    while (world.step < steps || running.size > 0) {
      world.step++
      await gate.settle(replicas.lockedPids)
      if (world.violations.length > 0) break
      const mayBegin = world.step < steps && running.size < parallel
      if (mayBegin && (gate.waiting.length === 0 || random.chance(0.25))) begin()
      else if (gate.waiting.length > 0) trace.push(release(random))
      else await turn()
    }
    gate.open()
    await Promise.all(running.values())
    if (world.violations.length === 0) await checkEnd(world)
    return { violations: [...world.violations, ...crashes(replicas.errors)], trace }
  } finally {
    gate.open()
    Math.random = former
    await replicas.close()
  }
}

/** Lets one waiting statement pass, or breaks its connection. */
function release(random: Random): string {
  const waiting = random.pick(gate.waiting)
  const fate: Fate = random.chance(0.01) ? 'lost' : random.chance(0.01) ? 'unanswered' : 'pass'
  waiting.release(waiting.label === 'pause' ? 'pass' : fate)
  return `${fate} ${waiting.operation}: ${waiting.label}`
}

/** Checks what only the end shows: limits, and the events of all changes. */
async function checkEnd(world: World): Promise<void> {
  for (const [key, times] of world.failures)
    for (const [index, time] of times.entries()) {
      const within = times.slice(index).filter((each) => each - time < limits.window)
      if (within.length > limits.login) world.violated(`${within.length} failed sign-ins within a minute: ${key}`)
    }
  const [app] = world.replicas.apps
  await checkMail(world)
  for (const [type, { acknowledged, unknown }] of world.changes) {
    const count = (await app?.database.prisma.event.count({ where: { type } })) ?? 0
    if (count < acknowledged || count > acknowledged + unknown)
      world.violated(`${count} events ${type} for ${acknowledged} changes, and ${unknown} without an answer`)
  }
}

/** Checks that the mail server accepted the notice of every acknowledged change. svc repeats what failed for a day. */
async function checkMail({ replicas, changes, violations }: World): Promise<void> {
  for (let attempt = 0; attempt < 12; attempt++) {
    for (const app of replicas.apps) await app.outbox.deliverDue()
    replicas.clock.advance(2 * hour)
  }
  for (const [type, subject] of notices) {
    const sent = replicas.sent.filter((one) => one === subject).length
    const { acknowledged = 0 } = changes.get(type) ?? {}
    if (sent < acknowledged) violations.push(`${sent} mails "${subject}" for ${acknowledged} changes`)
  }
}

const notices = [
  ['password_changed', 'Your password was changed'],
  ['password_reset', 'Your password was reset'],
] as const

/** Errors of svc that are not about the broken connections. */
const crashes = (lines: readonly string[]): string[] =>
  lines.filter((line) => /"(TypeError|RangeError|ReferenceError|AssertionError)"/.test(line)).slice(0, 3)

/** Leaves out operations that a failing plan does not need. */
export async function shrink(plan: Plan, report: (text: string) => void): Promise<Plan> {
  const { trace } = await simulate(plan)
  let ids = trace.flatMap((line) => /^begin (\d+)/.exec(line)?.[1] ?? []).map(Number)
  let without = new Set(plan.without)
  for (let size = Math.ceil(ids.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < ids.length; start += size) {
      const fewer = new Set([...without, ...ids.slice(start, start + size)])
      const { violations } = await simulate({ ...plan, without: fewer })
      if (violations.length === 0) continue
      without = fewer
      ids = ids.filter((id) => !fewer.has(id))
      start -= size
      report(`still fails with ${ids.length} operations`)
    }
  }
  return { ...plan, without }
}
