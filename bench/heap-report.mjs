// Loaded into a measured server with `--import`: writes V8's memory figures to a file when the process ends. JavaScript, because
// Node keeps its TypeScript compiler once it has loaded it: 4 MB.
import { writeFileSync } from 'node:fs'
import { getHeapSpaceStatistics } from 'node:v8'
import { isMainThread } from 'node:worker_threads'

const file = new URL(import.meta.url).searchParams.get('file')
if (isMainThread && file) {
  process.once('exit', () => {
    writeFileSync(file, JSON.stringify({ spaces: getHeapSpaceStatistics(), memory: process.memoryUsage() }))
  })
}
