/** How often the parent process is looked for, in milliseconds. */
const interval = 1_000

/**
 * Calls `stop` when the parent process has ended. npm does not pass SIGTERM on through its shell, so the server would
 * otherwise stay on its port.
 */
export function onParentEnd(stop) {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, interval)
  watch.unref()
}
