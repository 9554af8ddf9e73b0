const BUSY = 5

/** Whether SQLite refused because another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY
}

/** The primary result code of a SQLite error, without the extension in the higher bits. */
export function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('rawCode' in error) || typeof error.rawCode !== 'number') return undefined
  return error.rawCode & 0xff
}
