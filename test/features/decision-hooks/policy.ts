import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { Test } from 'tap'
import type { Settings } from '../../support/app.ts'

/** A question of svc. */
interface Question {
  type: string
  test?: true
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member.
  data: Record<string, any>
}

interface Reply {
  status?: number
  body: string
  /** Closes the connection instead. */
  isDropped?: true
  /** What the answer waits for. */
  after?: Promise<unknown>
}

/** A service of the operator that decides. Allows everything by default. */
export interface Service {
  url: string
  questions: Question[]
  headers: IncomingHttpHeaders[]
  /** Number of connections that svc has opened. */
  connections: number
  /** Answers the next questions: JSON, or a whole reply. */
  answer(question: Question): object | Reply
  /** Closes the connections that wait for a question. */
  closeConnections(): void
  /** Types of the questions since the last call. */
  asked(): string[]
}

export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwK7r4MfKQ9r8='

const isReply = (answer: object): answer is Reply => 'body' in answer

/** Starts a service that verifies each signature as the specification says. */
export async function startService(t: Test): Promise<Service> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    new Webhook(secret).verify(body, request.headers as Record<string, string>)
    const question: Question = JSON.parse(body)
    service.questions.push(question)
    service.headers.push(request.headers)
    const answer = service.answer(question)
    const { status = 200, body: text, after, isDropped } = isReply(answer) ? answer : { body: JSON.stringify(answer) }
    await after
    if (isDropped) return request.destroy()
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
  })
  server.on('connection', () => service.connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close().closeAllConnections())
  let seen = 0
  const service: Service = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/decide`,
    questions: [],
    headers: [],
    connections: 0,
    answer: () => ({}),
    closeConnections: () => server.closeIdleConnections(),
    asked() {
      const types = service.questions.slice(seen).map(({ type }) => type)
      seen = service.questions.length
      return types
    },
  }
  return service
}

/** Settings with these hooks at one service. */
export const hooked = (service: Service, hooks: Record<string, object>): Settings => ({
  outbound: { allow_private: ['127.0.0.0/8'] },
  hooks: Object.fromEntries(Object.entries(hooks).map(([name, more]) => [name, { url: service.url, secret, ...more }])),
})
