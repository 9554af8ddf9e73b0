// Tells the browser which passkeys the user has, so that a password manager hides removed ones and shows the current name.
import { fetchJson } from './passkey.js'

async function signal() {
  const { PublicKeyCredential } = globalThis
  if (!PublicKeyCredential?.signalAllAcceptedCredentials) return
  const { all_accepted_credentials: accepted, current_user_details: details } =
    await fetchJson('/user/passkeys/signals')
  if (accepted) await PublicKeyCredential.signalAllAcceptedCredentials(accepted)
  if (details) await PublicKeyCredential.signalCurrentUserDetails(details)
}

// The user asked for nothing, so an error needs no message.
signal().catch(() => {})
