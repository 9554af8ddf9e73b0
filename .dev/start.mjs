// npm start: runs the server.
import './compile-cache.mjs'
import { onParentEnd } from './parent.mjs'

onParentEnd(() => process.kill(process.pid, 'SIGTERM'))
await import('../src/main.ts')
