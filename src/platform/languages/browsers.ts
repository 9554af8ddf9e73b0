import type { MessageName, MessageValues } from './messages.ts'

/** Translates a description of a browser, such as `Firefox on Windows`. Returns null for null. */
export function translateBrowser(
  described: string | null,
  text: (name: MessageName, values?: MessageValues) => string,
): string | null {
  if (described === null) return null
  const [browser = '', system] = described.split(' on ')
  const name = browser === 'An app' ? text('browser.app') : browser
  return system === undefined ? name : text('browser.on_system', { browser: name, system })
}
