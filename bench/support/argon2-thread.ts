// A thread that verifies a password with svc's parameters until the time is over.
import { performance } from 'node:perf_hooks'
import { parentPort, workerData } from 'node:worker_threads'
import { hashPassword, verifyPassword } from '../../src/platform/crypto/password.ts'

const { seconds, password }: { seconds: number; password: string } = workerData
const hash = hashPassword(password)
const begin = performance.now()
let checks = 0
while (performance.now() - begin < seconds * 1000) {
  await verifyPassword(hash, password)
  checks++
}
parentPort?.postMessage(checks / ((performance.now() - begin) / 1000))
