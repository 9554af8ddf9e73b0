// What the pages with passkeys share.
export async function fetchJson(url, options = {}) {
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

/** Posts JSON as this page's own request. */
export function postJson(url, body) {
  const headers = { 'content-type': 'application/json', 'x-xsrf-token': xsrfToken() }
  return fetchJson(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** The button of a page: hidden until the browser is known to have passkeys, and busy while one is asked for. */
export function passkeyButton(button) {
  const failure = document.getElementById('passkey-error')

  /** Shows that a passkey did not work, unless the user cancelled. */
  function report(error) {
    if (!['AbortError', 'NotAllowedError'].includes(error.name)) failure.hidden = false
  }

  /** Shows the button; a click does the work. */
  function showButton(work) {
    document.getElementById('passkey').hidden = false
    button.addEventListener('click', async () => {
      failure.hidden = true
      button.disabled = true
      button.setAttribute('aria-busy', 'true')
      await work().catch(report)
      button.disabled = false
      button.removeAttribute('aria-busy')
      button.focus()
    })
  }

  return { report, showButton }
}
