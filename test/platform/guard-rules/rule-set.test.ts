// engine: none
import t from 'tap'
import { parseHost } from '../../../src/platform/guard-rules/host-pattern.ts'
import { RuleSet } from '../../../src/platform/guard-rules/rule-set.ts'

interface Rule {
  hosts: string[] | null
  paths: string[] | null
  methods: string[] | null
}

const rule = (parts: Partial<Rule>): Rule => ({ hosts: null, paths: null, methods: null, ...parts })

/** Returns the index of the rule for a request; -1 without one, or the reason why the path is rejected. */
function indexOf(rules: readonly Rule[], path: string, { method = 'GET', host = 'api.example.com' } = {}) {
  const parsed = parseHost(host)
  if (!parsed) return 'not a host'
  try {
    const found = new RuleSet(rules).find({ method, path, host: { name: parsed.name, port: parsed.port ?? '443' } })
    return found ? rules.indexOf(found) : -1
  } catch (error) {
    return (error as Error).message
  }
}

const ambiguous = 'matches different rules, depending on how a server reads it'

t.test('matches exact paths, segments and prefixes', async (t) => {
  const rules = [
    rule({ paths: ['/orders'] }),
    rule({ paths: ['/orders/:id'] }),
    rule({ paths: ['/orders/:id/lines/*'] }),
    rule({ paths: ['/files/*'] }),
    rule({ paths: ['/'] }),
  ]
  const cases: Record<string, number> = {
    '/orders': 0,
    '/orders/': 0,
    '/orders/1': 1,
    '/orders/1/': 1,
    '/orders/1/lines': 2,
    '/orders/1/lines/7/x': 2,
    '/orders/1/other': -1,
    '/ordersx': -1,
    '/files': 3,
    '/files/': 3,
    '/files/a/b.txt': 3,
    '/filesx': -1,
    '/': 4,
  }
  for (const [path, expected] of Object.entries(cases)) t.equal(indexOf(rules, path), expected, path)
})

t.test('returns the first rule that matches, whatever its kind', async (t) => {
  const rules = [
    rule({ paths: ['/a/*'], methods: ['POST'] }),
    rule({ paths: ['/:x/b'] }),
    rule({ paths: ['/a/b'] }),
    rule({ paths: ['/*'] }),
  ]
  t.equal(indexOf(rules, '/a/b'), 1)
  t.equal(indexOf(rules, '/a/b', { method: 'POST' }), 0)
  t.equal(indexOf(rules, '/a/c'), 3)
})

t.test('matches hosts exactly, by one label and by port', async (t) => {
  const rules = [
    rule({ hosts: ['api.example.com'] }),
    rule({ hosts: ['*.example.com:8443'] }),
    rule({ hosts: ['*.example.com'] }),
    rule({ hosts: ['[FD00::1]'] }),
    rule({ hosts: ['10.0.0.1'] }),
  ]
  const cases: Record<string, number | string> = {
    'api.example.com': 0,
    'API.Example.COM': 0,
    'api.example.com.': 0,
    'api.example.com:443': 0,
    'api.example.com:9999': 0,
    'www.example.com:8443': 1,
    'www.example.com': 2,
    'a.b.example.com': -1,
    'example.com': -1,
    '[fd00:0::1]': 3,
    '10.0.0.1': 4,
    '10.1': 'not a host',
    '0x0a000001': 'not a host',
    '167772161': 'not a host',
    'api.example.com:0443': 'not a host',
    'api.example.com:': 'not a host',
    'api.example.com:443:1': 'not a host',
    'api.example.com, evil.example': 'not a host',
    'user@api.example.com': 'not a host',
    'api.example.com/': 'not a host',
    'api..example.com': 'not a host',
    '': 'not a host',
  }
  for (const [host, expected] of Object.entries(cases)) t.equal(indexOf(rules, '/', { host }), expected, host)
})

t.test('rejects a path that servers read as different rules', async (t) => {
  const rules = [
    rule({ paths: ['/public/*'] }),
    rule({ paths: ['/orders/:id'] }),
    rule({ paths: ['/Admin/*'] }),
    rule({ paths: ['/*'] }),
  ]
  const paths = [
    '/public/../orders/1',
    '/public/%2e%2e/orders/1',
    '/public/%2E%2E%2Forders/1',
    '/public%2f..%2forders/1',
    '/public;/../orders/1',
    '/public/%252e%252e/orders/1',
    '//orders/1',
    '/./orders//1',
    '/orders;x=y/1',
    '/orders/1%2f2',
    '/%6frders/1',
    '/ORDERS/1',
    '/admin/users',
    '/public%3f/../orders/1',
    '//public/orders/1',
    '//x/public/a',
    '///x/orders/1',
    '/%2fx/orders/1',
    '/orders;a/1;b',
  ]
  for (const path of paths) t.equal(indexOf(rules, path), ambiguous, path)
})

t.test('accepts a path whose readings match the same rule', async (t) => {
  const rules = [rule({ paths: ['/public/*'] }), rule({ paths: ['/orders/*'] })]
  for (const path of [
    '/orders/./1',
    '/orders//1',
    '/orders/a%20b',
    '/orders/a%2fb',
    '/orders/1;v=2',
    '/orders/A',
    '/orders/caf%C3%A9',
  ])
    t.equal(indexOf(rules, path), 1, path)
})

t.test('returns the same rule among a thousand as a linear search', async (t) => {
  const rules = Array.from({ length: 1_000 }, (_, i) =>
    rule({ paths: [`/api/v${i % 40}/r${i}/*`], hosts: [`h${i % 7}.example.com`] }),
  )
  for (const index of [0, 1, 499, 998, 999]) {
    const [path = ''] = rules[index]?.paths ?? []
    const [host = ''] = rules[index]?.hosts ?? []
    t.equal(indexOf(rules, path.replace('*', 'x'), { host }), index)
  }
  t.equal(indexOf(rules, '/api/v1/r2/x', { host: 'h2.example.com' }), -1)
})
