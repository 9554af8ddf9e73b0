// npm run svc: runs a command.
import './compile-cache.mjs'

await import('../src/cli.ts')
