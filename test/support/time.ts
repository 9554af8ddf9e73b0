import { mock } from 'node:test'
import type { Test } from 'tap'
import { TestClock } from './clock.ts'

/** The clock of svc and `Date`, which libraries such as oidc-provider read: both stop and move together. */
class StoppedClock extends TestClock {
  override advance(milliseconds: number): void {
    super.advance(milliseconds)
    mock.timers.setTime(this.now())
  }
}

let stopped = false

/**
 * Stops time for svc and for its libraries until the test ends, so that nothing expires on a slow machine. Another
 * clock in the same test starts at the time at which the first one stopped.
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

/** Advances svc and its libraries by this many milliseconds. */
export function travel({ clock }: { clock: TestClock }, milliseconds: number): void {
  clock.advance(milliseconds)
}
