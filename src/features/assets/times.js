// Shows exact times in the time zone of the browser, and groups recent activity by its days.
const { lang } = document.documentElement
const exact = new Intl.DateTimeFormat(lang, { dateStyle: 'long', timeStyle: 'short' })
const day = new Intl.DateTimeFormat(lang, { dateStyle: 'full' })
const time = new Intl.DateTimeFormat(lang, { timeStyle: 'short' })

for (const element of document.querySelectorAll('time[title]')) element.title = exact.format(new Date(element.dateTime))

let last = ''
for (const entry of document.querySelectorAll('#events > li')) {
  const element = entry.querySelector('time')
  const at = new Date(element.dateTime)
  const name = day.format(at)
  element.textContent = time.format(at)
  if (name !== last) {
    const heading = document.createElement('li')
    heading.className = 'day'
    heading.append(Object.assign(document.createElement('h2'), { textContent: name }))
    entry.before(heading)
  }
  last = name
}
