#!/usr/bin/env node
import { enableInstalledCache } from './platform/compile-cache.ts'

// First, because svc may be the first process of a container, which receives only the signals that it handles. It can exit
// at once until it serves requests.
const stopSignals = ['SIGINT', 'SIGTERM'] as const
const exit = () => process.exit(0)
for (const signal of stopSignals) process.on(signal, exit)

enableInstalledCache()
const { start } = await import('./process/start.ts')
await start(() => {
  for (const signal of stopSignals) process.off(signal, exit)
})
