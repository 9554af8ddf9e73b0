// Shared code of the pages with passkeys.
export async function fetchJson(url, options = {}) {
  const headers = { accept: 'application/json', ...options.headers }
  const answer = await fetch(url, { ...options, headers, cache: 'no-store', credentials: 'same-origin' })
  if (answer.ok) return answer.json()
  const { code } = await answer.json().catch(() => ({}))
  throw Object.assign(new Error(`${url} answered ${answer.status}`), { status: answer.status, code })
}

/** Runs a ceremony of the browser, which reports a timeout like a cancellation. Throws a TimeoutError for a timeout. */
export async function runCeremony(start, options) {
  const begun = performance.now()
  try {
    return await start(options)
  } catch (error) {
    const isLate = performance.now() - begun > options.optionsJSON.timeout - 1000
    if (error.name !== 'NotAllowedError' || !isLate) throw error
    throw Object.assign(new Error('The time ran out.'), { name: 'TimeoutError' })
  }
}

/** CSRF tokens, read on each use because they change with the session. Another application may set the cookie too. */
function xsrfTokens() {
  const prefix = `${document.documentElement.dataset.xsrfCookie}=`
  const pairs = document.cookie.split('; ').filter((pair) => pair.startsWith(prefix))
  return pairs.length > 0 ? pairs.map((pair) => decodeURIComponent(pair.slice(prefix.length))) : ['']
}

/** Posts JSON with the CSRF token. */
export async function postJson(url, body) {
  let refusal
  for (const token of xsrfTokens()) {
    const headers = { 'content-type': 'application/json', 'x-xsrf-token': token }
    try {
      return await fetchJson(url, { method: 'POST', headers, body: JSON.stringify(body) })
    } catch (error) {
      if (error.status !== 419) throw error
      refusal = error
    }
  }
  throw refusal
}

/** The page's passkey button: hidden until the browser supports passkeys, and disabled during a request. */
export function passkeyButton(button) {
  const failure = document.getElementById('passkey-error')

  /** Shows an error, unless the user cancelled. */
  function report(error) {
    if (['AbortError', 'NotAllowedError'].includes(error.name)) return
    const isTimeout = error.name === 'TimeoutError'
    document.getElementById('passkey-failed').hidden = isTimeout
    document.getElementById('passkey-timed-out').hidden = !isTimeout
    failure.hidden = false
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
