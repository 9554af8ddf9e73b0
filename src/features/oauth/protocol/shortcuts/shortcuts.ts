/** What svc does in another way than the OAuth library, only to take less time. `docs/shortcuts.md` explains each. */
export const shortcuts = [
  'introspection',
  'user-info',
  'client-credentials',
  'user-tokens',
  'joint-writes',
  'deferred-writes',
  'write-batches',
  'known-expiries',
] as const

/** Name of a shortcut. */
export type Shortcut = (typeof shortcuts)[number]

declare global {
  /** The shortcut that a build for the benchmark leaves out, to measure what it saves. The build replaces the variable. */
  var svcWithout: string | undefined
}

/** Tests whether svc takes a shortcut. */
export const takes = (shortcut: Shortcut): boolean => shortcut !== globalThis.svcWithout
