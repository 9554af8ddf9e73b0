// Filters the error codes while a developer types.
const field = document.getElementById('find')
const found = document.getElementById('found')
const sections = [...document.querySelectorAll('main section')]
const links = [...document.querySelectorAll('.index li')]

document.getElementById('search').hidden = false
field.addEventListener('input', () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = sections.map((section) => words.every((word) => section.textContent.toLowerCase().includes(word)))
  for (const [index, isMatch] of matches.entries()) {
    sections[index].hidden = !isMatch
    links[index].hidden = !isMatch
  }
  found.textContent = words.length > 0 ? `${matches.filter(Boolean).length} of ${sections.length} codes` : ''
})
