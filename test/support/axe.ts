import axe from 'axe-core'
import type { Page } from 'playwright-core'

interface Violation {
  id: string
  nodes: { html: string; failureSummary: string }[]
}

/**
 * The accessibility violations that axe finds on the current page, one line for each element; optionally by one rule
 * alone.
 */
export async function axeFindings(page: Page, rule?: string): Promise<string[]> {
  const only = rule === undefined ? { rules: { 'target-size': { enabled: true } } } : { runOnly: [rule] }
  const options = { resultTypes: ['violations'], ...only }
  await page.evaluate(axe.source)
  // During a transition, an element has colours of neither state.
  await page.evaluate('for (const animation of document.getAnimations()) animation.finish()')
  const { violations } = await page.evaluate<{ violations: Violation[] }>(`axe.run(${JSON.stringify(options)})`)
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}: ${node.failureSummary}`))
}
