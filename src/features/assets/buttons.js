// Ignores the second click of a double click on a button that sends a form. svc would receive the form twice, and the
// response to the second request would replace the page that shows a new token or recovery codes.
const pause = 1000
const sentAt = new WeakMap()

addEventListener('submit', (event) => {
  if (event.defaultPrevented) return
  const button = event.submitter ?? event.target
  if (event.timeStamp - (sentAt.get(button) ?? -pause) < pause) event.preventDefault()
  else sentAt.set(button, event.timeStamp)
})

if (document.getElementById('copy')) await import('./copy.js')
