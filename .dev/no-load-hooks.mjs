// Preloaded in test processes. tap records each module that a test loads, for reruns after a change. Its hook doubles the
// time in which a process loads its modules, and svc does not use the records. One call starts tap's measurement of
// coverage, which finds the modules by itself.
import module from 'node:module'

module.registerHooks = ({ load }) => {
  // Not the file of the test, because tap measures nothing in processes that start from a file below `.tap`.
  load(import.meta.url, {}, () => ({}))
  return { deregister() {} }
}
