import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import tap, { type Test } from 'tap'
import { isAvailable } from './available.ts'
import { isInstalled, launchChromium, TIMEOUT } from './launch-chromium.ts'

/** Whether a browser is installed for the tests; CI requires one. */
export function hasChromium(t: Test): boolean {
  return isAvailable(t, isInstalled, 'CHROMIUM IS NOT ON THIS MACHINE: NOTHING WAS TESTED IN A BROWSER')
}

/** Running browsers by their switches. One starts in a second, and its contexts share nothing. */
const browsers = new Map<string, Promise<Browser>>()

function browserWith(switches: readonly string[]): Promise<Browser> {
  const key = switches.join('\n')
  const running = browsers.get(key) ?? launchChromium(switches)
  if (!browsers.has(key)) {
    browsers.set(key, running)
    tap.teardown(async () => (await running).close())
  }
  return running
}

/** A browser with a separate profile; closed with the test. */
export async function openChromium(
  t: Test,
  { switches = [], ...options }: BrowserContextOptions & { switches?: string[] } = {},
): Promise<BrowserContext> {
  const context = await (await browserWith(switches)).newContext(options)
  context.setDefaultTimeout(TIMEOUT)
  t.teardown(() => context.close())
  return context
}
