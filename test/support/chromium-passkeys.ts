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
  }
}

/**
 * Turns off the passkey suggestions of the page's next documents. The virtual authenticator answers them immediately, so
 * a test that uses the sign-in form or the passkey button would race with them.
 */
export const preventSuggestions = (page: Page) =>
  page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')

/** Registers a passkey as a front end would, in the session of the page. */
export async function registerPasskey(page: Page): Promise<void> {
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
}
