// Enables the cache of compiled modules (src/platform/compile-cache.ts) before Node reads the first TypeScript file. Otherwise Node loads
// its TypeScript compiler for main.ts or cli.ts, and keeps it: 18 MB.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'))
