import type { Page } from 'playwright-core'

/** How many pixels a page is wider than its window. */
export const widerThan = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')

const described = `(element) => element.outerHTML.slice(0, 160)`

/** Separate buttons, fields and links that are smaller than a touch target. */
export const smallTargets = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('button, summary, .button, .after a, .switch, .check, input:not([type=hidden], [type=checkbox])')]
    .filter((element) => element.checkVisibility() && element.getBoundingClientRect().height < 44)
    .map(${described})`)

/** Texts that are wider than their own box. */
export const spilledTexts = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('h1, h2, p, li, dd, label, summary, button, .button, form')]
    .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1)
    .filter((element) => getComputedStyle(element).display !== 'inline')
    .map(${described})`)

/** Buttons of a list that screen readers cannot tell apart. */
export const ambiguousButtons = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('.rows button, .rows .button')]
    .filter((element) => !element.ariaLabel && !document.getElementById(element.getAttribute('aria-describedby')))
    .map(${described})`)

/** Controls whose name for screen readers lacks their visible text (WCAG 2.5.3). */
export const misnamedControls = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll(':is(a, button, summary)[aria-label]')]
    .filter(({ ariaLabel, textContent }) => !ariaLabel.toLowerCase().includes(textContent.trim().toLowerCase()))
    .map(${described})`)

/** Elements that move or fade, by a style. */
export const movingElements = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('*')].filter((element) =>
    ['', '::before', '::after'].some((part) => {
      const { transitionDuration, animationName } = getComputedStyle(element, part || undefined)
      return /[1-9]/.test(transitionDuration) || animationName !== 'none'
    })).map(${described})`)

/** Widens the spacing of text as WCAG 2.2 criterion 1.4.12 describes. */
export const spaceText = async (page: Page): Promise<void> => {
  await page.evaluate(`{
    const sheet = new CSSStyleSheet()
    sheet.replaceSync('* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important } p { margin-bottom: 2em !important }')
    document.adoptedStyleSheets = [sheet]
  }`)
}

/** The id of the focused element, after the browser applied `autofocus`. */
export const focusedId = (page: Page): Promise<string> =>
  page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => resolve(document.activeElement.id)))`)

/** What a keyboard user meets: problems of the focus from the start of the page to its end. */
export async function keyboardFindings(page: Page): Promise<string[]> {
  const count = await page.evaluate<number>(`{
    const selector = 'a[href], button, input:not([type=hidden]), select, summary, [tabindex]'
    window.expected = [...document.querySelectorAll(selector)]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }) && element.tabIndex >= 0 && !element.disabled)
    window.visited = []
    const start = document.createElement('span')
    start.tabIndex = -1
    document.body.prepend(start)
    start.focus()
    document.addEventListener('focusin', ({ target }) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(target)
      const { top, bottom } = target.getBoundingClientRect()
      const isShown = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && bottom > 0 && top < innerHeight
      visited.push({ target, isShown, top: top + scrollY, bottom: bottom + scrollY })
    })
    expected.length
  }`)
  for (let pressed = 0; pressed < count; pressed += 1) await page.keyboard.press('Tab')
  return page.evaluate(`{
    const name = ${described}
    const missed = expected.filter((element) => !visited.some(({ target }) => target === element))
    const hidden = visited.filter(({ isShown }) => !isShown)
    // In one column, the focus never jumps up.
    const jumps = visited.filter(({ bottom, target }, at) => at > 0 && !target.matches('.skip') && bottom <= visited[at - 1].top)
    ;[
      ...missed.map((element) => 'not reached: ' + name(element)),
      ...hidden.map(({ target }) => 'focus not visible: ' + name(target)),
      ...jumps.map(({ target }) => 'focus jumps up: ' + name(target)),
    ]
  }`)
}
