// lane: all
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

// The headless shell needs half of the processor time of the whole browser.
const programs = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
const program = process.env.SVC_TEST_BROWSER || programs.find((path) => existsSync(path))

/** Whether this machine has a browser for the tests. */
export const isInstalled = program !== undefined

/** A missing element fails with its own name before the test file times out; even slow machines need less time. */
export const TIMEOUT = 300_000

const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Starts a browser. */
export const launchChromium = (switches: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: program ?? '', args: [...args, ...switches], timeout: TIMEOUT })
