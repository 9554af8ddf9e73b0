// Adds to each password field a button that shows the password and a warning about Caps Lock, and to fields for a new
// password a strength hint. Without JavaScript, the fields work as they are.
const parts = document.getElementById('password-tools').content

function addTools(input) {
  const [button, caps, strength] = ['.reveal', '[data-part=caps]', '[data-part=strength]'].map((selector) =>
    parts.querySelector(selector).cloneNode(true),
  )
  const frame = document.createElement('div')
  frame.className = 'secret'
  // An element that moves loses the focus.
  const hadFocus = document.activeElement === input
  input.replaceWith(frame)
  frame.append(input, button)
  if (hadFocus) input.focus()
  frame.after(caps)
  addReveal(input, button)
  addCapsLock(input, caps)
  const isNew = input.autocomplete === 'new-password' && input.minLength > 0
  if (isNew) {
    frame.after(strength)
    input.addEventListener('input', () => show(strength, strength.dataset[strengthOf(input)] ?? ''))
  }
}

function addReveal(input, button) {
  const reveal = (isShown) => {
    input.type = isShown ? 'text' : 'password'
    button.setAttribute('aria-pressed', String(isShown))
  }
  button.addEventListener('click', () => {
    reveal(input.type === 'password')
    input.focus()
  })
  // Browsers store the values of text fields in their form history.
  input.form?.addEventListener('submit', () => reveal(false))
}

function addCapsLock(input, note) {
  const check = (event) => show(note, event.getModifierState?.('CapsLock') ? note.dataset.text : '')
  for (const type of ['keydown', 'keyup', 'mousedown']) input.addEventListener(type, check)
  input.addEventListener('blur', () => show(note, ''))
}

/** Changes the text only if it differs: screen readers announce each change. */
function show(note, text) {
  if (note.textContent !== text) note.textContent = text
}

/** A rough estimate: the length, and how many different characters of how many kinds. The server decides. */
function strengthOf({ value, minLength }) {
  if (value === '') return 'none'
  if ([...value].length < minLength) return 'tooShort'
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^\w\s]/, /\s/, /[^\0-\x7f]/].filter((kind) => kind.test(value)).length
  const bits = new Set(value).size * (3 + kinds) + [...value].length
  if (bits < 55) return 'weak'
  return bits < 85 ? 'good' : 'strong'
}

for (const input of document.querySelectorAll('input[type=password]')) addTools(input)
