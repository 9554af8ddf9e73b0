// Shows the passkey button on the page that asks a signed-in user for a second factor.
import { fetchJson, passkeyButton, postJson } from './passkey.js'

const { browserSupportsWebAuthn, startAuthentication } = globalThis.SimpleWebAuthnBrowser
const button = document.getElementById('passkey-confirm')

async function confirm() {
  const { options } = await fetchJson('/passkeys/confirm/options')
  const credential = await startAuthentication({ optionsJSON: options })
  await postJson('/passkeys/confirm', { credential })
  location.assign(button.dataset.returnTo)
}

if (browserSupportsWebAuthn()) passkeyButton(button).showButton(confirm)
