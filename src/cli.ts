#!/usr/bin/env node
import { enableInstalledCache } from './compile-cache.ts'

enableInstalledCache()
await import('./run-command.ts')
