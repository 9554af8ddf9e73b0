import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { buildTestApp, type Settings, type TestApp, type TestAppOptions } from '../../support/app.ts'

interface Received {
  headers: IncomingHttpHeaders
  body: string
  /** Members of the body. */
  message: { type: string; timestamp: string; data: Record<string, unknown> }
}

/** A server of the operator that receives webhooks. */
export interface Receiver {
  url: string
  received: Received[]
  /** Status of the next answers. */
  status: number
  headers: Record<string, string>
  /** Decides the status of a message instead. */
  statusOf: ((message: Received['message']) => number) | null
  types(): string[]
}

/** Starts a receiver, which accepts everything by default. */
export async function startReceiver(t: Test): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const message = JSON.parse(body)
    receiver.received.push({ headers: request.headers, body, message })
    response.writeHead(receiver.statusOf?.(message) ?? receiver.status, receiver.headers).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received: [],
    status: 204,
    headers: {},
    statusOf: null,
    types: () => receiver.received.map(({ message }) => message.type),
  }
  return receiver
}

/** A secret as the command in the error message of the configuration prints it. */
export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwK7r4MfKQ9r8='

export interface Hooked {
  url: string
  secret?: string | string[]
  events?: string[]
}

/** Settings that send to receivers on this machine. */
export const hookSettings = (...receivers: Hooked[]): Settings => ({
  outbound: { allow_private: ['127.0.0.0/8'] },
  webhooks: receivers.map(({ url, ...rest }) => ({ url, secret, events: ['*'], ...rest })),
})

/** Builds svc with receivers. */
export const buildHooked = (t: Test, receivers: Hooked[], options: TestAppOptions = {}): Promise<TestApp> =>
  buildTestApp(t, { ...options, settings: { ...hookSettings(...receivers), ...options.settings } })
