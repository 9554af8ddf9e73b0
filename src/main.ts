#!/usr/bin/env node
import { enableInstalledCache } from './compile-cache.ts'

enableInstalledCache()
await import('./start.ts')
