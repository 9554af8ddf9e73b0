// Asks the password manager to create a passkey after a sign-in by password. Nothing appears unless it does.
import { fetchJson, postJson } from './passkey.js'

const { startRegistration } = globalThis.SimpleWebAuthnBrowser

async function isSupported() {
  const capabilities = await globalThis.PublicKeyCredential?.getClientCapabilities?.()
  return capabilities?.conditionalCreate === true
}

async function create() {
  if (!(await isSupported())) return
  const { options } = await fetchJson('/user/passkeys/conditional/options')
  const credential = await startRegistration({ optionsJSON: options, useAutoRegister: true })
  await postJson('/user/passkeys/conditional', { credential })
  document.getElementById('passkey-offer')?.remove()
  document.getElementById('passkey-created').hidden = false
}

// The user did not ask for a passkey, so an error needs no message.
create().catch(() => {})
