import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { CDPSession, Page } from 'playwright-core'
import { ada } from './listening.ts'

const modules = dirname(dirname(createRequire(import.meta.url).resolve('@simplewebauthn/browser')))
const webauthn = readFileSync(join(modules, 'dist/bundle/index.umd.min.js'), 'utf8')

/** A virtual authenticator. */
interface ChromiumAuthenticator {
  /** Whether it answers without waiting for the user. */
  touch(enabled: boolean): Promise<void>
  /** Whether it succeeds in verifying the user. */
  verifyUser(isUserVerified: boolean): Promise<void>
  /** The passkeys on it. */
  credentials(): Promise<unknown[]>
}

/** Adds an authenticator that verifies its user. */
export async function addAuthenticator(devtools: CDPSession): Promise<ChromiumAuthenticator> {
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    touch: async (enabled) => {
      await devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
    },
    verifyUser: async (isUserVerified) => {
      await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    },
    credentials: async () => (await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
  }
}

/**
 * Turns off the ceremonies that the page's next documents start on their own. The virtual authenticator answers
 * suggestions immediately, so a test that uses the sign-in form or the passkey button would race with them.
 */
export const preventSuggestions = (page: Page) =>
  page.addInitScript(`
    PublicKeyCredential.isConditionalMediationAvailable = async () => false
    PublicKeyCredential.getClientCapabilities = async () => ({})
  `)

/**
 * Answers the conditional registrations of the page's next documents with the virtual authenticator. Headless Chromium
 * supports them, but has no password manager that could.
 */
export const answerConditionalCreate = (page: Page) =>
  page.addInitScript(`
    PublicKeyCredential.isConditionalMediationAvailable = async () => false
    const create = navigator.credentials.create.bind(navigator.credentials)
    navigator.credentials.create = ({ mediation, ...options }) => {
      if (mediation !== 'conditional') throw new Error('not conditional')
      return create(options)
    }
  `)

/** Registers a passkey as a front end would, in the session of the page. */
export async function registerPasskey(page: Page): Promise<void> {
  const url = page.url()
  // The start page may wait for a conditional registration, and Chromium runs one ceremony at a time.
  await page.goto(new URL('/account', url).href)
  await page.evaluate(webauthn)
  await page.evaluate(`(async () => {
    const send = async (method, url, body) => {
      const headers = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) }
      const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      if (!answer.ok) throw new Error(url + ' answered ' + answer.status)
      return answer.json()
    }
    await send('POST', '/user/confirm-password', { password: ${JSON.stringify(ada.password)} })
    const { options } = await send('GET', '/user/passkeys/options')
    const credential = await SimpleWebAuthnBrowser.startRegistration({ optionsJSON: options })
    await send('POST', '/user/passkeys', { name: 'Laptop', credential })
  })()`)
  await page.goto(url)
}
