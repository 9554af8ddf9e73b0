import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { protocolPaths } from '../../../../src/features/oauth/protocol/paths.ts'
import { seed } from '../../../platform/http/odd-requests.ts'
import { buildTestApp } from '../../../support/app.ts'
import { stopTime } from '../../../support/time.ts'
import { oddProtocolRequest } from './odd.ts'
import { gather, settings, signedIn } from './pieces.ts'

const requests = Number(process.env.SVC_TEST_REQUESTS ?? 2_500)
const atOnce = 250
const paths: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.entries(protocolPaths).map(([path, { methods }]) => [path, methods])),
  '/oauth/interaction/:uid': ['GET', 'POST'],
}

/**
 * Internals that responses must not show: files, stacks, and messages of the driver and libraries. Short words would
 * also match random text in cookies.
 */
const internals =
  /node_modules|\.(ts|js):\d+|\bat (async )?\w+ \(|[Pp]risma|oauth_records|oops!|SQLITE|ECONN(REFUSED|RESET)|Internal Server Error|evil\.example(?!.{0,3}not allowed)/

/** The problem with an answer, or null. */
function flaw(
  { statusCode, headers, body }: LightMyRequestResponse,
  request: InjectOptions & { name: string },
): string | null {
  const isProgram = protocolPaths[request.name]?.caller === 'program'
  if (statusCode >= 500) return 'an internal error'
  if (internals.test(`${JSON.stringify(headers)}${body}`))
    return `shows internals: ${internals.exec(JSON.stringify(headers) + body)}`
  const mayKeep = request.name.startsWith('/.well-known/')
  if (!mayKeep && headers['cache-control'] !== 'no-store') return `cache-control ${headers['cache-control']}`
  if (headers['x-content-type-options'] !== 'nosniff') return 'may be sniffed'
  if (statusCode < 400 || request.method === 'HEAD') return null
  const type = String(headers['content-type'])
  if (!isProgram && type === 'text/html; charset=utf-8') {
    const policy = String(headers['content-security-policy'])
    return /frame-ancestors 'none'/.test(policy) && headers['referrer-policy'] === 'same-origin'
      ? null
      : `policy ${policy}`
  }
  if (!/^application\/json; charset=utf-8$/.test(type)) return `content type ${type}: ${body.slice(0, 100)}`
  const { error, error_description, message, code } = JSON.parse(body)
  // Unknown paths and methods, and errors of svc's own interaction pages, use svc's error format.
  if (typeof message === 'string' && typeof code === 'string') {
    const isElsewhere = request.name.includes('interaction') || !paths[request.name]?.includes(String(request.method))
    return [404, 405].includes(statusCode) || isElsewhere ? null : `svc's shape: ${body}`
  }
  if (!isProgram && /text\/html/.test(String(request.headers?.accept).split(',')[0] ?? ''))
    return 'no page for a person'
  return typeof error === 'string' && typeof error_description === 'string' ? null : `body ${body}`
}

t.test(`never answers a malformed OAuth request with an internal error (seed ${seed})`, async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const reached = new Map<string, Map<number, number>>()
  const flaws: string[] = []
  for (let i = 0; i < requests; i += atOnce) {
    // Some of the requests sign out.
    const pieces = await gather(svc, await signedIn(svc))
    const asked = Array.from({ length: atOnce }, () => oddProtocolRequest(paths, pieces))
    const answers = await Promise.all(asked.map(({ name, ...request }) => svc.app.inject(request)))
    for (const [j, answer] of answers.entries()) {
      const request = asked[j] ?? { name: '' }
      const statuses = reached.get(request.name) ?? new Map<number, number>()
      reached.set(request.name, statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1))
      const found = flaw(answer, request)
      if (found) flaws.push(`${answer.statusCode} ${found.slice(0, 300)}: ${JSON.stringify(request).slice(0, 900)}`)
    }
  }
  t.same(flaws.slice(0, 8), [])
  t.equal(flaws.length, 0)
  const counts = JSON.stringify([...reached].map(([path, statuses]) => [path, [...statuses]]))
  if (process.env.SVC_TEST_COUNTS) process.stderr.write(`${counts}\n`)
  for (const path of Object.keys(paths)) t.ok(reached.has(path), `${path} was requested`)
  const errors = svc.logs.filter(
    (line) => /"level":"(error|fatal)"/.test(line) || line.includes('temporarily unavailable'),
  )
  t.same(errors.slice(0, 3), [], 'no unexpected error was logged')
})
