import fc from 'fast-check'
import type { Test } from 'tap'

/** One kind of step: its random input, whether the model allows it now, and what it does to the model and to svc. */
interface Step<Model, Input> {
  input: fc.Arbitrary<Input>
  isPossible?(model: Model, input: Input): boolean
  /** Throws if svc does not answer as the model does. */
  run(model: Model, input: Input): Promise<void>
}

/** A step of any input. `step` hides the type of the input, so that a list can hold different ones. */
type AnyStep<Model extends object> = (name: string) => fc.Arbitrary<fc.AsyncCommand<Model, undefined>>

/** Describes a step of a model. */
export const step =
  <Model extends object, Input>({ input, isPossible, run }: Step<Model, Input>): AnyStep<Model> =>
  (name) =>
    input.map((value) => ({
      check: (model) => isPossible?.(model, value) ?? true,
      run: (model) => run(model, value),
      toString: () => `${name}(${fc.stringify(value)})`,
    }))

/** Describes a step that takes one of a list; it is possible while the list has entries. */
export const stepOn = <Model extends object, Each>(
  listOf: (model: Model) => readonly Each[],
  run: (model: Model, each: Each) => Promise<void>,
): AnyStep<Model> =>
  step({
    input: fc.nat({ max: 30 }),
    isPossible: (model: Model) => listOf(model).length > 0,
    async run(model, at) {
      const each = pick(listOf(model), at)
      if (each !== undefined) await run(model, each)
    },
  })

interface Runs {
  runs?: number
  /** The maximum number of steps of a run. */
  steps?: number
}

/**
 * Runs random steps against a model and svc. After a failure, fast-check looks for the shortest sequence that still fails, and
 * prints it. SVC_SEED chooses other steps; CI always takes the same ones.
 */
export async function runModel<Model extends object>(
  t: Test,
  begin: () => Promise<Model>,
  steps: Readonly<Record<string, AnyStep<Model>>>,
  { runs = 30, steps: maxCommands = 120 }: Runs = {},
): Promise<void> {
  const taken = new Map(Object.keys(steps).map((name) => [name, 0]))
  const commands = Object.entries(steps).map(([name, of]) =>
    of(name).map((command) => ({
      ...command,
      toString: command.toString,
      run: (model: Model, real: undefined) => {
        taken.set(name, (taken.get(name) ?? 0) + 1)
        return command.run(model, real)
      },
    })),
  )
  const property = fc.asyncProperty(fc.commands(commands, { maxCommands, size: 'max' }), (sequence) =>
    fc.asyncModelRun(async () => ({ model: await begin(), real: undefined }), sequence),
  )
  const seed = Number(process.env.SVC_SEED ?? 1)
  await fc.assert(property, { seed, numRuns: runs })
  for (const [name, times] of taken) t.ok(times > 0, `${name}, ${times} times`)
}

/** Returns one of the list, by a number of any size. */
export const pick = <Each>(list: readonly Each[], at: number): Each | undefined => list[at % Math.max(1, list.length)]

/** Throws unless the answer has one of these statuses. */
export function expectStatus(
  answer: { statusCode: number; body: string },
  expected: number | readonly number[],
  what: string,
): void {
  if ([expected].flat().includes(answer.statusCode)) return
  throw new Error(`${what}: expected ${expected}, got ${answer.statusCode} ${answer.body}`)
}

/** Throws unless both values are equal. */
export function expectEqual(found: unknown, expected: unknown, what: string): void {
  const [a, b] = [found, expected].map((value) => JSON.stringify(value))
  if (a !== b) throw new Error(`${what}: expected ${b}, got ${a}`)
}
