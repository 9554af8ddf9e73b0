const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

const patterns = new Map<string, RegExp>()

/** Tests a text against a pattern of the configuration, in which `*` matches any text without `:` and `/`. */
export function matches(pattern: string, text: string): boolean {
  const known = patterns.get(pattern) ?? new RegExp(`^${pattern.split('*').map(escaped).join('[^:/]*')}$`, 'u')
  patterns.set(pattern, known)
  return known.test(text)
}
