import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import type { Running } from './process.ts'

/** A log line of a server with workers. */
export interface WorkerLine {
  msg?: string
  level?: string
  worker?: number
  workers?: number
  job?: string
  route?: string
  replaced_after_ms?: number
}

/** The log lines so far. */
export const linesOf = ({ stdout }: Running): WorkerLine[] =>
  stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

/** How many log lines match. */
export const linesWith = (svc: Running, wanted: WorkerLine): number =>
  linesOf(svc).filter((line) => Object.entries(wanted).every(([key, value]) => line[key as keyof WorkerLine] === value))
    .length

/** The process ids of the workers. */
export const workersOf = ({ child }: Running): number[] =>
  readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
    .split(' ')
    .map(Number)
    .filter((pid) => pid > 0 && isRunning(pid))

/** Whether a process exists. A zombie is gone. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** A request of the load. */
export interface LoadRequest {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

/** Sends a request; returns its status, or the code of its error. */
function outcomeOf(port: number, agent: Agent | false, { method = 'GET', path, headers, body }: LoadRequest) {
  return new Promise<string>((resolve) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent })
    sent.once('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    sent.once('response', (answer) => {
      answer.once('error', (error) => resolve(error.message))
      answer.once('end', () => resolve(String(answer.statusCode)))
      answer.resume()
    })
    sent.end(body)
  })
}

/** Clients that send requests one after another: some on connections that they keep, some on a new one each. */
export class ClientLoad {
  readonly clients = 6
  /** Requests that ended. */
  ended = 0
  #outcomes: Record<string, number> = {}
  #isOver = false
  readonly #clients: Promise<void>[]

  constructor(port: number, requests: readonly LoadRequest[]) {
    this.#clients = Array.from({ length: this.clients }, (_, index) =>
      this.#client(port, index % 3 > 0 ? new Agent({ keepAlive: true, maxSockets: 1 }) : false, requests),
    )
  }

  /** Counts of the outcomes since the last call. */
  outcomes(): Record<string, number> {
    const found = this.#outcomes
    this.#outcomes = {}
    return found
  }

  /** Waits for the requests in flight. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#clients)
  }

  async #client(port: number, agent: Agent | false, requests: readonly LoadRequest[]): Promise<void> {
    for (let turn = 0; !this.#isOver; turn++) {
      const sent = requests[turn % requests.length]
      if (!sent) return
      const outcome = await outcomeOf(port, agent, sent)
      this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + 1
      this.ended++
    }
    if (agent) agent.destroy()
  }
}
