import { mock } from 'node:test'
import type { Test } from 'tap'
import { TestClock } from './clock.ts'

/** The clock of svc and `Date`, which libraries such as oidc-provider read: both stop, and both move together. */
class StoppedClock extends TestClock {
  override advance(milliseconds: number): void {
    super.advance(milliseconds)
    mock.timers.setTime(this.now())
  }
}

let stopped = false

/**
 * Stops time for svc and for its libraries until the test ends, so that a slow machine cannot let anything expire.
 * Another clock in the same test starts at the time at which the first one stopped.
 */
export function stopTime(t: Test): TestClock {
  if (!stopped) {
    mock.timers.enable({ apis: ['Date'], now: Date.now() })
    stopped = true
    t.teardown(() => {
      mock.timers.reset()
      stopped = false
    })
  }
  return new StoppedClock(Date.now())
}

/** Moves svc and its libraries on by so many milliseconds. */
export function travel({ clock }: { clock: TestClock }, milliseconds: number): void {
  clock.advance(milliseconds)
}
