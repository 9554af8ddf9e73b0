// engine: none
import t from 'tap'
import { createLogger, unmatchedPath } from '../../src/observability/logging.ts'

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
