// Shows the passkey button on the sign-in page, and offers passkeys among the suggestions of the address field.
const { browserSupportsWebAuthn, browserSupportsWebAuthnAutofill, startAuthentication } =
  globalThis.SimpleWebAuthnBrowser
const section = document.getElementById('passkey')
const button = document.getElementById('passkey-login')
const failure = document.getElementById('passkey-error')

async function fetchJson(url, options = {}) {
  const headers = { accept: 'application/json', ...options.headers }
  const answer = await fetch(url, { ...options, headers, cache: 'no-store', credentials: 'same-origin' })
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
  return answer.json()
}

/** The value that proves to svc that this page asks; it changes with the session, so it is read each time. */
function xsrfToken() {
  const cookie = document.cookie.split('; ').find((pair) => pair.startsWith('XSRF-TOKEN='))
  return decodeURIComponent(cookie?.slice('XSRF-TOKEN='.length) ?? '')
}

async function askForPasskey() {
  const { options } = await fetchJson('/passkeys/login/options')
  return startAuthentication({ optionsJSON: options })
}

/** Offers passkeys among the suggestions; nobody misses them where they cannot be had. */
async function suggestPasskeys() {
  const suggested = await fetchSuggestion().catch(() => undefined)
  if (suggested) await signIn(suggested).catch(report)
}

/** Stays open until one is chosen; the button ends it, and is not ended by it when the click was quicker. */
async function fetchSuggestion() {
  if (!(await browserSupportsWebAuthnAutofill())) return
  const { options } = await fetchJson('/passkeys/login/options')
  if (!button.disabled) return startAuthentication({ optionsJSON: options, useBrowserAutofill: true })
}

/** Where the second factor is asked for, after a passkey that did not verify who holds it. */
function challengePage() {
  const url = new URL(document.getElementById('login-submit').form.action)
  if (button.dataset.returnTo) url.searchParams.set('return_to', button.dataset.returnTo)
  return url
}

async function signIn(credential) {
  const remember = document.getElementById('remember')?.checked ?? false
  const answer = await fetchJson('/passkeys/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-xsrf-token': xsrfToken() },
    body: JSON.stringify({ credential, remember }),
  })
  location.assign(answer.two_factor ? challengePage() : button.dataset.returnTo || answer.redirect)
}

/** Nobody is told of what they cancelled themselves. */
function report(error) {
  if (!['AbortError', 'NotAllowedError'].includes(error.name)) failure.hidden = false
}

async function onClick() {
  failure.hidden = true
  button.disabled = true
  button.setAttribute('aria-busy', 'true')
  try {
    await signIn(await askForPasskey())
  } catch (error) {
    report(error)
  }
  button.disabled = false
  button.removeAttribute('aria-busy')
  button.focus()
}

if (browserSupportsWebAuthn()) {
  section.hidden = false
  button.addEventListener('click', onClick)
  void suggestPasskeys()
}
