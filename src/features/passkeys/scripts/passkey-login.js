// Shows the passkey button on the sign-in page, and offers passkeys among the suggestions of the address field.
import { fetchJson, passkeyButton, postJson, runCeremony } from './passkey.js'

const { browserSupportsWebAuthn, browserSupportsWebAuthnAutofill, startAuthentication } =
  globalThis.SimpleWebAuthnBrowser
const button = document.getElementById('passkey-login')
const { showButton, report } = passkeyButton(button)

/** Milliseconds until another try after the options could not be fetched. */
const pause = 60_000

/** Each offer of suggestions and each click on the button replaces the previous one. */
let turns = 0

/** Offers passkeys in the autofill suggestions, and again before the challenge expires and after a failure. */
async function suggestPasskeys() {
  const turn = ++turns
  const offerAgain = () => turn === turns && suggestPasskeys()
  const options = await fetchOptions().catch(() => null)
  if (turn !== turns) return
  setTimeout(offerAgain, options ? options.timeout * 0.8 : pause)
  if (!options) return
  const begun = performance.now()
  try {
    await signIn(options, await runCeremony(startAuthentication, { optionsJSON: options, useBrowserAutofill: true }))
  } catch (error) {
    // A newer offer or the button replaced this one.
    if (turn !== turns) return
    // A browser that fails at once would fail again, and the user has not done anything yet. Only svc's errors have a status.
    if (error.status === undefined && performance.now() - begun < 1000) return
    report(error)
    void offerAgain()
  }
}

const fetchOptions = async () => (await fetchJson('/passkeys/login/options')).options

async function signInByButton() {
  turns++
  try {
    const options = await fetchOptions()
    await signIn(options, await runCeremony(startAuthentication, { optionsJSON: options }))
  } catch (error) {
    void offerSuggestions()
    throw error
  }
}

/** Page for the second factor after a passkey without user verification. */
function challengePage() {
  const url = new URL(document.getElementById('login-submit').form.action)
  if (button.dataset.returnTo) url.searchParams.set('return_to', button.dataset.returnTo)
  return url
}

async function signIn({ rpId }, credential) {
  const remember = document.getElementById('remember')?.checked ?? false
  const answer = await postJson('/passkeys/login', { credential, remember }).catch((error) => {
    if (error.code === 'unknown_passkey') signalUnknown({ rpId, credentialId: credential.id })
    throw error
  })
  location.assign(answer.two_factor ? challengePage() : button.dataset.returnTo || answer.redirect)
}

/** Asks the password manager to stop offering a passkey that svc does not have. */
function signalUnknown(credential) {
  globalThis.PublicKeyCredential.signalUnknownCredential?.(credential).catch(() => {})
}

async function offerSuggestions() {
  if (!(await browserSupportsWebAuthnAutofill())) return
  // Browsers offer passkeys only in a field with this token.
  const email = document.getElementById('email')
  if (email) email.autocomplete = 'username webauthn'
  await suggestPasskeys()
}

if (browserSupportsWebAuthn()) {
  showButton(signInByButton)
  // Above the form, after a passkey was used in this browser.
  if (button.classList.contains('primary')) button.focus()
  void offerSuggestions()
}
