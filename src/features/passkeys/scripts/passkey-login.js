// Shows the passkey button on the sign-in page, and offers passkeys among the suggestions of the address field.
import { fetchJson, passkeyButton, postJson } from './passkey.js'

const { browserSupportsWebAuthn, browserSupportsWebAuthnAutofill, startAuthentication } =
  globalThis.SimpleWebAuthnBrowser
const button = document.getElementById('passkey-login')
const { showButton, report } = passkeyButton(button)

async function askForPasskey() {
  const { options } = await fetchJson('/passkeys/login/options')
  return startAuthentication({ optionsJSON: options })
}

/** Offers passkeys in the autofill suggestions; failures are silent. */
async function suggestPasskeys() {
  const suggested = await fetchSuggestion().catch(() => undefined)
  if (suggested) await signIn(suggested).catch(report)
}

/** Pends until the user chooses a passkey. The button aborts it, and a click that came first prevents it. */
async function fetchSuggestion() {
  if (!(await browserSupportsWebAuthnAutofill())) return
  // Browsers offer passkeys only in a field with this token.
  const email = document.getElementById('email')
  if (email) email.autocomplete = 'username webauthn'
  const { options } = await fetchJson('/passkeys/login/options')
  if (!button.disabled) return startAuthentication({ optionsJSON: options, useBrowserAutofill: true })
}

/** Page for the second factor after a passkey without user verification. */
function challengePage() {
  const url = new URL(document.getElementById('login-submit').form.action)
  if (button.dataset.returnTo) url.searchParams.set('return_to', button.dataset.returnTo)
  return url
}

async function signIn(credential) {
  const remember = document.getElementById('remember')?.checked ?? false
  const answer = await postJson('/passkeys/login', { credential, remember })
  location.assign(answer.two_factor ? challengePage() : button.dataset.returnTo || answer.redirect)
}

if (browserSupportsWebAuthn()) {
  showButton(async () => signIn(await askForPasskey()))
  // Above the form, after a passkey was used in this browser.
  if (button.classList.contains('primary')) button.focus()
  void suggestPasskeys()
}
