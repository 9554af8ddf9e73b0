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

async function signIn(useBrowserAutofill) {
  const { options } = await fetchJson('/passkeys/login/options')
  const credential = await startAuthentication({ optionsJSON: options, useBrowserAutofill })
  const remember = document.getElementById('remember')?.checked ?? false
  const { redirect } = await fetchJson('/passkeys/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-xsrf-token': xsrfToken() },
    body: JSON.stringify({ credential, remember }),
  })
  location.assign(button.dataset.returnTo || redirect)
}

/** Nobody is told of what they cancelled themselves, or of suggestions that another prompt took the place of. */
function report(error) {
  if (!['AbortError', 'NotAllowedError'].includes(error.name)) failure.hidden = false
}

async function onClick() {
  failure.hidden = true
  button.disabled = true
  button.setAttribute('aria-busy', 'true')
  try {
    await signIn(false)
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
  if (await browserSupportsWebAuthnAutofill()) signIn(true).catch(report)
}
