import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

/**
 * Caches compiled modules, because compiling them takes half of the start. The cache belongs to this installation: in the
 * directory for temporary files, other users of the machine could replace it. Without write permission, svc starts
 * without a cache.
 */
export function enableInstalledCache(): void {
  enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'))
}
