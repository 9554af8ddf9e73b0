// engine: none
import t from 'tap'
import { logLibraries } from '../../../src/platform/observability/libraries.ts'
import { createLogger, unmatchedPath } from '../../../src/platform/observability/logging.ts'
import { buildTestApp } from '../../support/app.ts'
import { until } from '../../support/until.ts'

/** The log output for an error. */
function logged(err: unknown): Record<string, unknown> {
  const lines: string[] = []
  const log = createLogger('trace', { write: (line: string) => void lines.push(line) })
  log.error({ err }, 'it failed')
  return JSON.parse(lines[0] ?? '{}').err
}

t.test('logs the error without its other fields', async (t) => {
  const row = { detail: 'Key (email)=(ada@example.com) already exists.', parameters: ['hunter2'], query: 'SELECT 1' }
  const cause = new Error('the cause mentions hunter3')
  const error = Object.assign(new TypeError('it broke', { cause }), row, { code: '23505' })
  const found = logged(error)
  t.same(Object.keys(found).sort(), ['code', 'message', 'stack', 'type'])
  t.match(found, { type: 'TypeError', message: 'it broke', code: '23505', stack: /logging\.test\.ts/ })
  t.notMatch(JSON.stringify(found), /ada@example\.com|hunter|SELECT/)
  t.same(
    Object.keys(logged(new Error('plain'))).sort(),
    ['message', 'stack', 'type'],
    'no code where the error has none',
  )
  t.same(logged(Object.assign(new AggregateError([row], 'many'), row)).message, 'many')
})

t.test('logs a thrown value that is not an error as text', async (t) => {
  t.same(logged('a text'), { message: 'a text' })
  t.same(logged({ password: 'hunter2' }), { message: '[object Object]' })
  t.same(logged(null), { message: 'null' })
})

t.test('shortens possible secrets in paths without a route', async (t) => {
  const [short, long] = ['a'.repeat(24), 'a'.repeat(25)]
  for (const [path, expected] of [
    ['/', '/'],
    ['/a/b?token=secret', '/a/b'],
    [`/${short}`, `/${short}`],
    [`/x/${long}/y`, '/x/…/y'],
    ['/1|secret', '/…'],
    ['/%7Csecret', '/…'],
    ['/ab'.repeat(67), '/ab'.repeat(67).slice(0, 200)],
  ] as const) {
    t.equal(unmatchedPath(path), expected, path)
  }
})

t.test('logs responses and probes as configured', async (t) => {
  const rows = [
    [{}, ['/api/user 401', '/api/user 200']],
    [{ probes: true }, ['/api/user 401', '/api/user 200', '/health/live 200', '/health/ready 200']],
    [{ requests: 'errors', probes: true }, ['/api/user 401']],
    [{ requests: 'none' }, []],
  ] as const
  for (const [log, expected] of rows) {
    const svc = await buildTestApp(t, { settings: { log } })
    const token = await svc.createToken(await svc.createUser())
    for (const bearer of [null, token]) await svc.bearer(bearer, 'GET', '/api/user')
    for (const path of ['/health/live', '/health/ready']) await svc.bearer(null, 'GET', path)
    const lines = svc.logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
    t.strictSame(
      lines.map(({ route, status }) => `${route} ${status}`),
      expected,
    )
    for (const { level, time } of lines) t.match(`${level} ${time}`, /^info \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  }
})

t.test('logs a probe that fails', async (t) => {
  const svc = await buildTestApp(t)
  svc.app.stopping.hasBegun = true
  t.equal((await svc.app.inject('/health/ready')).statusCode, 503)
  t.match(svc.logs.join(''), /"route":"\/health\/ready","status":503/)
})

t.test('logs what libraries print and the warnings of Node.js', async (t) => {
  const lines: string[] = []
  const kept = { ...console }
  const printing = process.listeners('warning')
  logLibraries(createLogger('info', { write: (line: string) => void lines.push(line) }))
  t.teardown(() => {
    Object.assign(console, kept)
    process.removeAllListeners('warning')
    for (const listener of printing) process.on('warning', listener)
  })
  const { warn } = console
  warn('[WARN] %s', 'a library says')
  process.emitWarning('old', 'DeprecationWarning')
  await until(() => lines.length === 2)
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      { level: 'warn', msg: '[WARN] a library says' },
      { level: 'warn', msg: 'DeprecationWarning: old' },
    ],
  )
})
