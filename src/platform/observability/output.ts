import { pino } from 'pino'

/** Maximum size of an atomic write to a pipe (PIPE_BUF). Up to it, lines of several processes do not mix. */
const atomicWrite = 4_096

/** Maximum length of joined lines. A character has at most three bytes, so they fit into an atomic write. */
const maxJoined = Math.floor(atomicWrite / 3)

/**
 * Standard output for log lines. Writes the lines of one event loop turn together, because pino's destination copies its
 * whole buffer for each write. Pending lines are written when the process ends.
 */
export function standardOutput({ isShared = false } = {}) {
  let pending = ''
  const writePending = () => {
    const lines = pending
    pending = ''
    if (lines !== '') destination.write(lines)
  }
  const writeLast = () => {
    // Only collects the lines for `flushSync`: the process would not wait for an asynchronous write.
    Object.assign(destination, { minLength: Number.MAX_SAFE_INTEGER })
    writePending()
  }
  // Before pino's own listener, which calls `flushSync`.
  process.once('exit', writeLast)
  const destination = pino.destination({ fd: 1, sync: false, ...(isShared && { maxWrite: atomicWrite }) })
  return {
    write(line: string): void {
      if (pending === '') setImmediate(writePending)
      else if (isShared && pending.length + line.length > maxJoined) writePending()
      pending += line
    },
    /** Writes all lines before the process ends. */
    flushSync(): void {
      writeLast()
      destination.flushSync()
    },
    /** Discards what is not written yet. */
    destroy(): void {
      pending = ''
      destination.destroy()
    },
  }
}
