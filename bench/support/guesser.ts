import { Agent, request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

/** Guesses passwords of unknown accounts from one IP address, on many connections without a pause. */
const { port, localAddress, concurrent }: { port: number; localAddress: string; concurrent: number } = workerData
const agent = new Agent({ keepAlive: true, maxSockets: concurrent })
const counts = { checked: 0, refused: 0 }
let tries = 0

function guess(): void {
  const body = JSON.stringify({ email: `unknown${++tries}@example.com`, password: 'Winter2026!', device_name: 'd' })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const sent = request({ port, host: '127.0.0.1', localAddress, agent, method: 'POST', path: '/svc/token', headers })
  sent.on('response', (answer) => {
    counts[answer.statusCode === 503 ? 'refused' : 'checked']++
    answer.resume().on('end', guess)
  })
  sent.on('error', () => {})
  sent.end(body)
}

for (let i = 0; i < concurrent; i++) guess()
parentPort?.on('message', () => parentPort?.postMessage(counts))
