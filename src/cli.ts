#!/usr/bin/env node
import { enableInstalledCache } from './platform/compile-cache.ts'

// The first process of a container receives only the signals that it handles.
if (process.pid === 1) {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(code)
    })
  }
}

enableInstalledCache()
await import('./cli/run-command.ts')
