// Shows the passkey button on pages that ask a known user for a second factor, or for a confirmation.
import { fetchJson, passkeyButton, postJson, runCeremony } from './passkey.js'

const { browserSupportsWebAuthn, startAuthentication } = globalThis.SimpleWebAuthnBrowser
const button = document.getElementById('passkey-confirm')
const { ceremony, restart, returnTo } = button.dataset

/** The options; null if no sign-in waits for a second factor anymore. */
async function fetchOptions() {
  try {
    const { options } = await fetchJson(`/passkeys/${ceremony}/options`)
    return options
  } catch (error) {
    if (error.status !== 409 || !restart) throw error
    return null
  }
}

async function confirm() {
  const options = await fetchOptions()
  if (options === null) return location.assign(restart)
  const credential = await runCeremony(startAuthentication, { optionsJSON: options })
  await postJson(`/passkeys/${ceremony}`, { credential })
  location.assign(returnTo)
}

if (browserSupportsWebAuthn()) passkeyButton(button).showButton(confirm)
