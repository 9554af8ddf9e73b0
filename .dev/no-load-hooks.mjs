// Preloaded in test processes. tap records each module that a test loads, for reruns after a change. Its hook doubles the
// time in which a process loads its modules, and svc does not use the records. One call starts tap's measurement of
// coverage, which finds the modules by itself.
import module from 'node:module'
import { pathToFileURL } from 'node:url'

module.registerHooks = ({ load }) => {
  // `node --eval` has no file.
  load(pathToFileURL(process.argv[1] ?? import.meta.filename).href, {}, () => ({}))
  return { deregister() {} }
}
