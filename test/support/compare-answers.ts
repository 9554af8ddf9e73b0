// Preloaded in processes of svc that tests start.
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const { compareAnswers } = await import('./answers.ts')
  compareAnswers()
}
