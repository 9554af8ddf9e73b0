// Preloaded in test processes: turns off two services of tap that svc does not use.
import asyncHooks from 'node:async_hooks'
import module, { syncBuiltinESMExports } from 'node:module'

// tap follows each promise, to find the test that an uncaught error belongs to. This takes 15 % of the processor time of
// most tests. Without it, an uncaught error ends the process, which fails too.
const { createHook } = asyncHooks
asyncHooks.createHook = (callbacks) =>
  new Error().stack.includes('async-hook-domain') ? { enable() {}, disable() {} } : createHook(callbacks)
syncBuiltinESMExports()

// tap records each module that a test loads, for reruns after a change. Its hook doubles the time that a process needs to
// load its modules. The function below replaces `registerHooks`: it calls the hook once, which starts tap's measurement of
// coverage. Programs that import `registerHooks` by name get the original function.
module.registerHooks = ({ load }) => {
  // Passes this file instead of the test file: tap measures nothing in processes that start from a file below `.tap`.
  load(import.meta.url, {}, () => ({}))
  return { deregister() {} }
}
