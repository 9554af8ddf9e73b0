import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

/**
 * Caches compiled modules, because compiling them takes half of the start. The cache is in the directory of the
 * installation, because other users of the machine could replace it in the directory for temporary files. If svc cannot
 * write there, it starts without a cache.
 */
export function enableInstalledCache(): void {
  enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/svc'))
}
