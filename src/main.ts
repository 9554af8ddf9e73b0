#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Compiling the modules takes half of the start. The cache belongs to this installation: in the directory for temporary
// files, other users of the machine could replace it. Without write permission, svc starts without a cache.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'))
await import('./start.ts')
