import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Test } from 'tap'

type Value = { stringValue?: string; intValue?: number | string; boolValue?: boolean }

interface SentAttribute {
  key: string
  value: Value
}

interface SentSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: SentAttribute[]
  events?: object[]
  status: { code?: number; message?: string }
}

/** The body of a post to `/v1/traces` (OTLP/HTTP with JSON). */
interface Sent {
  resourceSpans: { resource: { attributes: SentAttribute[] }; scopeSpans: { spans: SentSpan[] }[] }[]
}

type Facts = Record<string, string | number | boolean | undefined>

/** A received span. */
export interface CollectedSpan extends Omit<SentSpan, 'attributes'> {
  attributes: Facts
  resource: Facts
}

const factsOf = (attributes: readonly SentAttribute[]): Facts =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.boolValue ?? Number(value.intValue)]),
  )

/** A trace collector: a receiver of OpenTelemetry's protocol over HTTP. */
export class Collector {
  readonly url: string
  readonly spans: CollectedSpan[] = []
  /** The raw bodies that were posted. */
  text = ''

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`
  }

  static async start(t: Test): Promise<Collector> {
    const server = createServer(async (request, response) => {
      if (request.url !== '/v1/traces') return void response.writeHead(404).end()
      collector.#take((await json(request)) as Sent)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const address = server.address()
    const collector = new Collector(typeof address === 'object' && address ? address.port : 0)
    return collector
  }

  /** The spans with this name. */
  named(name: string): CollectedSpan[] {
    return this.spans.filter((span) => span.name === name)
  }

  #take(sent: Sent): void {
    this.text += JSON.stringify(sent)
    for (const { resource, scopeSpans } of sent.resourceSpans) {
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({ ...span, attributes: factsOf(span.attributes), resource: factsOf(resource.attributes) })
      }
    }
  }
}
