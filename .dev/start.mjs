// npm start: runs the server.
import './compile-cache.mjs'

await import('../src/main.ts')
