/** Copies the field or the list of codes that the button names. Browsers without the script show no button. */
const button = document.getElementById('copy')
const source = document.getElementById(button.dataset.copies)
const status = document.getElementById('copied')

button.hidden = !navigator.clipboard
button.addEventListener('click', async () => {
  source.select?.()
  const codes = [...source.querySelectorAll('code')].map(({ textContent }) => textContent)
  await navigator.clipboard.writeText(source.value ?? codes.join('\n'))
  status.textContent = button.dataset.copied
})
