import { mock } from 'node:test'
import type { Test } from 'tap'
import { TestClock } from './clock.ts'

/** Stops the time of svc and of the OAuth library, which reads the real clock, until the test ends. */
export function stopTime(t: Test): TestClock {
  const now = Date.now()
  mock.timers.enable({ apis: ['Date'], now })
  t.teardown(() => mock.timers.reset())
  return new TestClock(now)
}

/** Moves both on by so many milliseconds. */
export function travel({ clock }: { clock: TestClock }, milliseconds: number): void {
  clock.advance(milliseconds)
  mock.timers.setTime(clock.now())
}
