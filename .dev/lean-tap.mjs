// Preloaded in test processes: saves the time of three services of tap that svc does not need.
import asyncHooks from 'node:async_hooks'
import inspector from 'node:inspector'
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

// tap counts how often each block runs. svc needs to know only whether it ran, which saves about a tenth of the time of tests
// that measure coverage.
const { post } = inspector.Session.prototype
inspector.Session.prototype.post = function (method, parameters, ...others) {
  const isCounting = method === 'Profiler.startPreciseCoverage'
  return post.call(this, method, isCounting ? { ...parameters, callCount: false } : parameters, ...others)
}
