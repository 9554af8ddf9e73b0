// Preloaded in test processes: turns off two services of tap that svc does not use.
import asyncHooks from 'node:async_hooks'
import module, { syncBuiltinESMExports } from 'node:module'

// tap follows each promise, to find the test that an uncaught error belongs to. This takes 15 % of the processor time of
// most tests. Without it, an uncaught error ends the process, which fails too.
const { createHook } = asyncHooks
asyncHooks.createHook = (callbacks) =>
  new Error().stack.includes('async-hook-domain') ? { enable() {}, disable() {} } : createHook(callbacks)
syncBuiltinESMExports()

// tap records each module that a test loads, for reruns after a change. Its hook doubles the time in which a process
// loads its modules. One call starts tap's measurement of coverage, which finds the modules by itself. Programs that
// import `registerHooks` by name get the real one.
module.registerHooks = ({ load }) => {
  // Not the file of the test, because tap measures nothing in processes that start from a file below `.tap`.
  load(import.meta.url, {}, () => ({}))
  return { deregister() {} }
}
