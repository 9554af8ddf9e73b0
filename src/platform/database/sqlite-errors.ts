const BUSY = 5

/** Tests whether another connection holds the SQLite lock. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY
}

/** Returns the primary SQLite result code, without the extended bits. */
export function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('rawCode' in error) || typeof error.rawCode !== 'number') return undefined
  return error.rawCode & 0xff
}
