import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits until a condition holds. The timeout of the test file is the only limit,
 * so a busy machine makes a test slower and never makes it fail.
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(5)
}

/**
 * Lets real time pass. Only for tests whose subject is a duration in another process, such as a grace period;
 * everything else waits for a condition. `test/architecture/suite.test.ts` lists the files that may.
 */
export const pass = (milliseconds: number): Promise<void> => sleep(milliseconds)
