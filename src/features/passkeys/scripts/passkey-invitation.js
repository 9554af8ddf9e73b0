// Shows the passkey button on the page of an invitation.
import { passkeyButton, postJson, runCeremony } from './passkey.js'

const { browserSupportsWebAuthn, startRegistration } = globalThis.SimpleWebAuthnBrowser
const button = document.getElementById('passkey-invitation')
const field = document.getElementById('name')

async function accept() {
  if (!field.reportValidity()) return
  const invited = { token: button.dataset.token, name: field.value }
  const { options } = await postJson('/passkeys/invitation/options', invited)
  const credential = await runCeremony(startRegistration, { optionsJSON: options })
  const { redirect } = await postJson('/passkeys/invitation', { ...invited, credential })
  location.assign(redirect)
}

if (browserSupportsWebAuthn()) passkeyButton(button).showButton(accept)
