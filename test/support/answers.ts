import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { describedNow } from '../../src/auth/access/openapi.ts'
import { type Answer, DescribedAnswers, type Description, nameOf } from './described-answers.ts'

/** Answers of one operation, status and media type that a process compares with the description. */
const maxCompared = 40

/** Folder of the run, for the answers of all processes; unset without `.dev/test.mjs`. */
const folder = process.env.SVC_TEST_ANSWERS

const compared = new Map<string, number>()
/** Used first: most apps have the same description. */
let common: DescribedAnswers | undefined
const descriptions = new WeakMap<FastifyInstance, DescribedAnswers>()
const violations = new WeakMap<FastifyInstance, string[]>()
const latest = new WeakMap<ServerResponse, FastifyRequest>()

const note = (kind: 'seen' | 'violations', line: string): void => {
  if (folder) appendFileSync(join(folder, `${process.pid}.${kind}`), `${line}\n`)
}

/** The answers of an app that its API description does not allow. */
export const violationsOf = (app: FastifyInstance): readonly string[] => violations.get(app) ?? []

/**
 * Compares the answers of every svc that this process builds with its API description: each operation, status and media
 * type a few times. Works for injected requests, for sockets, and for replies that the OAuth library sends.
 */
export function compareAnswers(): void {
  subscribe('fastify.initialization', (message) => {
    const { fastify: app } = message as { fastify: FastifyInstance }
    app.addHook('onRequest', (request, reply, done) => {
      const { port } = app.config.current().guard
      // The description is that of server.port.
      if (port === null || request.socket.localPort !== port) watch(app, request, reply)
      done()
    })
  })
}

/** The description of the first app of the run: building one takes longer than many tests. */
function commonDescription(app: FastifyInstance): Description {
  const file = folder && join(folder, 'description.json')
  if (file && existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  const description = describedNow(app) as Description
  if (file) {
    // Another process never reads half of it.
    writeFileSync(`${file}.${process.pid}`, JSON.stringify(description))
    renameSync(`${file}.${process.pid}`, file)
  }
  return description
}

function watch(app: FastifyInstance, request: FastifyRequest, { raw }: FastifyReply): void {
  // A request with `_method` is routed twice with one response. The second route answers.
  const isWatched = latest.has(raw)
  latest.set(raw, request)
  if (isWatched) return
  const { write, end, writeHead } = raw
  const chunks: Buffer[] = []
  const keep = (chunk: unknown) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk as string))
  }
  const headers: Record<string, unknown> = {}
  raw.writeHead = function (...parts: unknown[]) {
    for (const [name, value] of Object.entries(Object(parts.at(-1)))) headers[name.toLowerCase()] = value
    return Reflect.apply(writeHead, this, parts)
  }
  let isEnding = false
  raw.write = function (...parts: unknown[]) {
    // light-my-request writes the last part again.
    if (!isEnding) keep(parts[0])
    return Reflect.apply(write, this, parts)
  }
  raw.end = function (...parts: unknown[]) {
    keep(parts[0])
    isEnding = true
    const ended = Reflect.apply(end, this, parts)
    const { routeOptions, method, url } = latest.get(raw) ?? request
    const path = routeOptions.url ?? ''
    // The OAuth library does not know other spellings of its paths, such as `/oauth/%74oken`.
    if (!isSpelled(url, path)) return ended
    compare(app, {
      method,
      path,
      status: raw.statusCode,
      headers: { ...raw.getHeaders(), ...headers },
      body: () => Buffer.concat(chunks).toString(),
    })
    return ended
  }
}

/** Whether the path of a URL is literally the path of a route. */
const isSpelled = (url: string, path: string): boolean => {
  const parts = (url.split('?')[0] ?? '').split('/')
  const expected = path.split('/')
  return (
    parts.length === expected.length &&
    expected.every((part, at) => (part.startsWith(':') ? parts[at] !== '' : parts[at] === part))
  )
}

function compare(app: FastifyInstance, answer: Answer): void {
  // Unknown paths, and servers of the tests.
  if (answer.path === '' || !app.hasDecorator('swagger')) return
  const mediaType = String(answer.headers['content-type'] ?? '').split(';')[0]
  const key = `${answer.method} ${answer.path} ${answer.status} ${mediaType}`
  const count = compared.get(key) ?? 0
  if (count >= maxCompared) return
  compared.set(key, count + 1)
  if (count === 0) note('seen', nameOf(answer))
  common ??= new DescribedAnswers(commonDescription(app))
  if (common.violations(answer).length === 0) return
  // Another configuration describes other answers.
  const own = descriptions.get(app) ?? new DescribedAnswers(describedNow(app) as Description)
  descriptions.set(app, own)
  const found = own.violations(answer)
  if (found.length === 0) return
  violations.set(app, [...violationsOf(app), ...found])
  for (const violation of found) note('violations', violation)
}
