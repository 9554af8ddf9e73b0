import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import type { Bench } from './bench.ts'
import { password } from './requests.ts'
import { emailOf } from './rows.ts'

/** Median times of sign-ins in milliseconds: alone, and while another address guesses passwords. */
export interface FairLogins {
  tries: number
  quiet: number
  attacked: number
  /** The second time divided by the first. */
  ratio: number
  /** The number of guesses that were checked, and that got 503. */
  checked: number
  refused: number
}

/** The maximum ratio of the two medians. */
export const fairLoginsTarget = 3

const tries = 60
const warmUp = 10
const concurrent = 150

const medianOf = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0

/** Signs in users from one address, one at a time, then again while another address guesses passwords. */
export async function measureFairLogins(bench: Bench): Promise<FairLogins> {
  const file = await bench.sqliteFile({ users: 1000, tokens: 100 })
  // The limit would reject the guesses before they reach the queue.
  const server = await bench.startSvc(`file:${file}`, { rate_limits: { login_address: null } })
  const agent = new Agent({ keepAlive: true })
  let next = 0

  const signIn = async (): Promise<number> => {
    const body = JSON.stringify({ email: emailOf(++next), password, device_name: 'd' })
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const options = { port: server.port, host: '127.0.0.1', localAddress: '127.0.0.2', agent, headers }
    const begin = performance.now()
    const sent = request({ ...options, method: 'POST', path: '/svc/token' })
    sent.end(body)
    const [answer] = await once(sent, 'response')
    answer.resume()
    await once(answer, 'end')
    if (answer.statusCode !== 200) throw new Error(`A sign-in answered ${answer.statusCode}.`)
    return performance.now() - begin
  }
  const measure = async (): Promise<number> => {
    const times: number[] = []
    for (let i = 0; i < tries + warmUp; i++) {
      const time = await signIn()
      if (i >= warmUp) times.push(time)
    }
    return medianOf(times)
  }

  const quiet = await measure()
  const workerData = { port: server.port, localAddress: '127.0.0.3', concurrent }
  const guesser = new Worker(new URL('./guesser.ts', import.meta.url), { workerData })
  const attacked = await measure()
  guesser.postMessage('count')
  const [counts] = await once(guesser, 'message')
  await guesser.terminate()
  agent.destroy()
  await server.stop()
  return { tries, quiet, attacked, ratio: attacked / quiet, ...counts }
}
