// Reads the newest events every few seconds, while the button is pressed and the page is visible.
const interval = 5_000
const button = document.getElementById('follow')
const address = new URL(location.href)
address.searchParams.set('follow', '1')
address.searchParams.delete('done')
let timer

async function read() {
  if (!document.hidden) {
    const response = await fetch(address, { headers: { accept: 'text/html' } }).catch(() => null)
    // After the end of the session, the response is another page.
    if (response?.redirected || response?.status === 401 || response?.status === 403) return location.reload()
    // The content of a template is inert, so that its styles do not violate the policy of this page.
    const page = document.createElement('template')
    if (response?.ok) page.innerHTML = await response.text()
    const [list, fresh] = [document.getElementById('trail'), page.content.getElementById('trail')]
    if (list && fresh) list.replaceChildren(...fresh.childNodes)
  }
  if (button.getAttribute('aria-pressed') === 'true') timer = setTimeout(() => void read(), interval)
}

// A later page of the list has no button.
if (button) button.hidden = false
button?.addEventListener('click', () => {
  const isFollowing = button.getAttribute('aria-pressed') !== 'true'
  button.setAttribute('aria-pressed', String(isFollowing))
  clearTimeout(timer)
  if (isFollowing) void read()
})
