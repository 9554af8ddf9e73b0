import type { Config } from '../../platform/config/schema.ts'
import { defaultStateful } from '../../platform/config/sections/access.ts'
import { originOf } from './page-address.ts'

/** A longer list is only named. */
const maxEntries = 8

/** Returns the line of the configuration that lists the page too; empty for an invalid origin. */
export function lineFor(key: 'stateful' | 'cors.origins', origin: string | undefined, config: Config): string {
  const page = originOf(origin)
  if (page === null) return ''
  if (key === 'cors.origins') return shown(config.cors.origins ?? [], page, (list) => `cors: { origins: [${list}] }`)
  const own = new URL(config.app.url).host
  const entries = config.stateful.filter((entry) => entry !== own)
  const isDefault = entries.every((entry) => defaultStateful.includes(entry))
  return shown(isDefault ? [] : entries, new URL(page).host, (list) => `stateful: [${list}]`)
}

function shown(entries: readonly string[], added: string, line: (list: string) => string): string {
  const all = [...entries, added].map((entry) => (/^[\w.:/-]+$/.test(entry) ? entry : JSON.stringify(entry)))
  return entries.length < maxEntries
    ? ` If it is yours, set ${line(all.join(', '))}.`
    : ` If it is yours, add ${all.at(-1)}.`
}
