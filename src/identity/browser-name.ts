/** Most specific first: many user agents also contain the names of other browsers. */
const browsers = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/\b(?:okhttp|CFNetwork|Dart|Expo|ReactNative)\b/, 'An app'],
] as const

const systems = [
  [/\bWindows NT\b/, 'Windows'],
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bMac OS X\b|\bDarwin\//, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const

/**
 * Describes the browser and system of a user agent in fixed words; null if unknown. Mails must not contain the user
 * agent, because the client chooses it.
 */
export function browserName(userAgent: string): string | null {
  const named = (names: typeof browsers | typeof systems) => names.find(([pattern]) => pattern.test(userAgent))?.[1]
  const [browser, system] = [named(browsers), named(systems)]
  if (browser === undefined) return null
  return system === undefined ? browser : `${browser} on ${system}`
}
