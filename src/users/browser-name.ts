/** The more telling first: each browser names the ones that it wants to be taken for as well. */
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
 * What a user agent says of its browser and system, in words of ours alone; null for one that is not known.
 * Its own text is whatever the client wrote, and has no place in a mail that svc vouches for.
 */
export function browserName(userAgent: string): string | null {
  const named = (names: typeof browsers | typeof systems) => names.find(([pattern]) => pattern.test(userAgent))?.[1]
  const [browser, system] = [named(browsers), named(systems)]
  if (browser === undefined) return null
  return system === undefined ? browser : `${browser} on ${system}`
}
