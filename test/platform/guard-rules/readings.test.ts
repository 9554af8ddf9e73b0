// engine: none
import t from 'tap'
import { readingsOf } from '../../../src/platform/guard-rules/path-readings.ts'

t.test('returns one reading of a plain path', async (t) => {
  for (const path of ['/', '/orders', '/orders/1', '/a.b/c-d_e~f', '/a:b@c,d', '/café-is-encoded/x'.replace('é', 'e')])
    t.same(readingsOf(path), [path], path)
})

t.test('returns every way in which a server may read a path', async (t) => {
  const cases: Record<string, string[]> = {
    '/public/../orders': ['/orders'],
    '/public/%2e%2e/orders': ['/orders', '/public/../orders'],
    '//orders': ['//orders', '/orders', '/'],
    '//x/orders': ['/x/orders', '/orders'],
    '///x/orders': ['/x/orders', '/orders'],
    '/%2fx/orders': ['/x/orders', '/orders'],
    '/./%2fuser@x:80/orders': ['/user@x:80/orders', '/orders'],
    '/orders;a/1;b': ['/orders/1', '/orders;a/1'],
    '/orders%2f1': ['/orders%2f1', '/orders/1'],
    '/public%2f..%2forders': ['/orders', '/public%2f..%2forders'],
    '/orders;x=y/1': ['/orders/1', '/orders;x=y/1'],
    '/orders/%252e%252e/users': ['/users', '/orders/%2e%2e/users'],
    '/%6frders': ['/%6frders', '/orders'],
    '/orders%3fx': ['/orders', '/orders?x'],
    '/orders%23x': ['/orders', '/orders#x'],
    '/./orders/.': ['/orders/'],
  }
  for (const [path, expected] of Object.entries(cases)) {
    const readings = readingsOf(path)
    for (const reading of expected) t.ok(readings.includes(reading), `${path} as ${reading}`)
  }
})

t.test('rejects a path that some servers reject or read differently', async (t) => {
  const bad = [
    '',
    'orders',
    'https://api.example.com/orders',
    '/orders\\1',
    '/orders%5c1',
    '/orders%00',
    '/orders%0a',
    '/orders%7f',
    '/orders%',
    '/orders%zz',
    '/orders%c3%28',
    '/public/..;/orders',
    '/public/%2e;x=y/orders',
    '/../orders',
    '/orders/%2e%2e/../x',
    '/orders%ff',
    '/a b',
    '/a\tb',
    '/caf\u00e9',
  ]
  for (const path of bad) t.throws(() => readingsOf(path), { message: /^(has|is|leaves) / }, JSON.stringify(path))
})

t.test('rejects a path with too many readings', async (t) => {
  t.throws(() => readingsOf(`/%${'25'.repeat(200)}`), { message: 'has too many readings' })
  const long = (length: number) => `/${'a'.repeat(length)}//b;c/%20`
  t.doesNotThrow(() => readingsOf(long(2_000)))
  t.throws(() => readingsOf(long(16_000)), { message: 'has too many readings' }, 'a longer path may have fewer')
})

t.test('reads a long path quickly', async (t) => {
  for (const part of ['/..', ';', '%2f', '//', '/a', '%25']) {
    const path = `/${part.repeat(5_000)}`
    t.doesNotThrow(() => {
      try {
        readingsOf(path)
      } catch {
        // Some of them are not accepted.
      }
    }, part)
  }
})
