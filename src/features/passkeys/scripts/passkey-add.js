// Registers a passkey on the account page.
import { fetchJson, passkeyButton, postJson, runCeremony } from './passkey.js'

const { browserSupportsWebAuthn, startRegistration } = globalThis.SimpleWebAuthnBrowser
const button = document.getElementById('passkey-add')
const name = document.getElementById('name')
const exists = document.getElementById('passkey-exists')

async function add() {
  exists.hidden = true
  if (!name.reportValidity()) return
  const { options } = await fetchJson('/user/passkeys/options')
  const credential = await runCeremony(startRegistration, { optionsJSON: options })
  await postJson('/user/passkeys', { name: name.value, credential })
  location.assign(button.dataset.next)
}

/** Handles the errors that have an explanation of their own. */
function explain(error) {
  if (error.name === 'InvalidStateError') exists.hidden = false
  // The confirmation expired. The page asks for it again.
  else if (error.status === 423) location.reload()
  else throw error
}

if (browserSupportsWebAuthn()) passkeyButton(button).showButton(() => add().catch(explain))
else document.getElementById('passkey-unsupported').hidden = false
name.form.addEventListener('submit', (event) => {
  event.preventDefault()
  button.click()
})
