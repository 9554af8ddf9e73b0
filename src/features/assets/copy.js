/** Copies the value of the field that the button names. Browsers without the script show no button. */
const button = document.getElementById('copy')
const field = document.getElementById(button.dataset.copies)
const status = document.getElementById('copied')

button.hidden = !navigator.clipboard
button.addEventListener('click', async () => {
  field.select()
  await navigator.clipboard.writeText(field.value)
  status.textContent = button.dataset.copied
})
