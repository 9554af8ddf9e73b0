// engine: none
import t from 'tap'
import { isStateful } from '../../../src/auth/access/stateful.ts'
import { testConfig } from '../../support/app.ts'

const defaults = testConfig({}).current().stateful
const entries = (...list: string[]): readonly string[] => list
const byOrigin = (origin: string, list: readonly string[] = defaults): boolean => isStateful({ origin }, list)
const byReferer = (referer: string, list: readonly string[] = defaults): boolean => isStateful({ referer }, list)

t.test('accepts the usual front ends by default', async (t) => {
  for (const origin of [
    'http://localhost',
    'https://localhost',
    'http://localhost:80',
    'http://localhost:3000',
    'http://localhost:5173',
    'http://127.0.0.1',
    'http://127.0.0.1:8000',
    'http://localhost:8000',
    'http://[::1]',
    'localhost:5173',
    'HTTP://LocalHost:5173',
  ]) {
    t.equal(byOrigin(origin), true, origin)
    t.equal(byReferer(`${origin}/a/page?q=1#f`), true, `${origin} as Referer`)
  }
})

t.test('rejects malformed origins', async (t) => {
  for (const origin of [
    'null',
    '',
    'http://localhost.evil.com',
    'http://evillocalhost',
    'http://evil-localhost:5173',
    'http://localhost:5173.evil.com',
    'http://localhost:51730',
    'http://localhost:5174',
    'http://localhost:8080',
    'http://localhost:443',
    'http://localhost.',
    'http://localhost.:5173',
    'http://localhost@evil.com',
    'http://localhost:5173@evil.com',
    'http://user@localhost:5173',
    'http://user:pass@localhost:5173',
    'http://@localhost:5173',
    'http://evil.com/localhost:5173',
    'http://evil.com/http://localhost:5173/',
    'http://evil.com?localhost:5173',
    'http://evil.com#localhost:5173',
    'http://evil.com\\localhost',
    'http://localhost\\@evil.com',
    'http://localhost\\.evil.com',
    'http:\\\\localhost:5173',
    'http:/localhost:5173',
    'http:localhost:5173',
    'http:///localhost:5173',
    '//localhost:5173',
    'http://local\thost:5173',
    'http://local\nhost:5173',
    ' http://localhost:5173',
    'http://localhost:5173, http://evil.com',
    'http://evil.com, http://localhost:5173',
    'http://localhost:5173 http://evil.com',
    'file:///localhost',
    'file://localhost/etc',
    'chrome-extension://localhost',
    'moz-extension://localhost:5173',
    'ftp://localhost',
    'ws://localhost:5173',
    'javascript://localhost/',
    'blob:http://localhost:5173/1',
    'data:text/html,localhost',
    'http://[::1]:8000',
    'http://[::2]',
    'http://::1',
    'http://127.0.0.1.evil.com',
    'http://127.0.0.10',
    'http://localhost:5173:80',
    'http://loc%61lhost.evil.com',
    'http://localh\u00f6st',
    'http://xn--localhst-p4a',
    'http://localho\u017ft.evil',
  ]) {
    t.equal(byOrigin(origin), false, JSON.stringify(origin))
    t.equal(byReferer(origin), false, `${JSON.stringify(origin)} as Referer`)
  }
})

t.test('checks Referer first, and requires that Origin agrees', async (t) => {
  const both = (referer: string | undefined, origin: string | undefined) => isStateful({ referer, origin }, defaults)
  const good = 'http://localhost:5173'
  t.equal(both(`${good}/x`, good), true)
  t.equal(both('', good), true, 'an empty Referer counts as missing')
  t.equal(both(`${good}/x`, undefined), true)
  t.equal(both(`${good}/x`, 'http://evil.com'), false)
  t.equal(both('http://evil.com/', good), false)
  t.equal(both(`${good}/x`, 'null'), false, 'a sandboxed frame sends an opaque origin')
  t.equal(both('http://localhost:3000/', good), false, 'two different front ends')
  t.equal(both('not a url', good), false)
  t.equal(both(`${good}/x`, 'http://user@evil'), false)
  t.equal(both(undefined, undefined), false)
  t.equal(both('', ''), false)
})

t.test('matches wildcards within one host name', async (t) => {
  const list = entries('test.com', '*.test.com', 'app-*.dev.example:8443')
  t.equal(byOrigin('https://test.com', list), true)
  t.equal(byOrigin('https://foo.test.com', list), true)
  t.equal(byOrigin('https://a.b.test.com', list), true)
  t.equal(byOrigin('https://FOO.test.com', list), true)
  t.equal(byOrigin('https://app-7.dev.example:8443', list), true)
  for (const origin of [
    'https://wrong.com',
    'https://test.com.x',
    'https://foo.test.com.x',
    'https://footest.com',
    'https://.test.com.evil',
    'https://evil.example/x.test.com/',
    'https://evil.example/.test.com',
    'https://evil.example?x.test.com',
    'https://evil.example:80.test.com',
    'https://foo.test.com:8443',
    'https://evil:1@x.test.com',
    'https://app-7.dev.example',
    'https://app-7.dev.example:84430',
    'https://app-x/.dev.example:8443',
  ]) {
    t.equal(byOrigin(origin, list), false, origin)
    t.equal(byReferer(origin, list), false, `${origin} as Referer`)
  }
  t.equal(byOrigin('https://fooxtest.com', entries('*.test.com')), false, 'a dot matches only a dot')
  t.equal(byOrigin('http://x:9000', entries('*')), false, 'a wildcard never matches a port')
  t.equal(byOrigin('http://[2001:db8::1]', entries('*')), false)
})

t.test('understands ports and IPv6 addresses', async (t) => {
  t.equal(byOrigin('http://app.example', entries('app.example:80')), true, 'the default port may be explicit')
  t.equal(byOrigin('https://app.example', entries('app.example:443')), true)
  t.equal(byOrigin('https://app.example', entries('app.example:80')), false)
  t.equal(byOrigin('http://app.example:443', entries('app.example')), false)
  t.equal(byOrigin('http://[::1]:3000', entries('[::1]:3000')), true)
  t.equal(byOrigin('http://[::1]:3001', entries('[::1]:3000')), false)
  t.equal(byOrigin('http://[::1]', entries('[::1]:3000')), false)
  t.equal(byOrigin('http://[0:0:0:0:0:0:0:1]', entries('::1')), true)
  t.equal(byOrigin('http://[2001:db8::1]', entries('2001:db8:0:0:0:0:0:1')), true)
  t.equal(byOrigin('http://[2001:db8::1]:99', entries('[2001:DB8:0::1]:99')), true)
  t.equal(byOrigin('http://[2001:db8::1]:99', entries('2001:db8::1')), false)
})

t.test('compares international names as browsers serialize them', async (t) => {
  const list = entries('xn--mnchen-3ya.example')
  t.equal(byOrigin('https://xn--mnchen-3ya.example', list), true)
  t.equal(byOrigin('https://m\u00fcnchen.example', list), true)
  t.equal(byOrigin('https://munchen.example', list), false)
  t.equal(byOrigin('https://\u0430pple.example', entries('apple.example')), false, 'a Cyrillic a is a different letter')
})

t.test('replaces the default by the configured list, and always includes app.url', async (t) => {
  const listOf = (settings: object, env = {}) => testConfig({ ...settings }, env).current().stateful
  const own = listOf({ stateful: ['app.example'], app: { url: 'http://localhost:8000' } })
  t.equal(byOrigin('https://app.example', own), true)
  t.equal(byOrigin('http://localhost:8000', own), true)
  t.equal(byOrigin('http://localhost:5173', own), false)
  t.equal(byOrigin('http://localhost:5173', listOf({ stateful: [] })), false)
  t.equal(isStateful({}, listOf({ stateful: [] })), false)
  t.equal(isStateful({}, []), false)
  const byEnvironment = listOf(
    { stateful: ['app.example'] },
    { SVC_STATEFUL_DOMAINS: 'other.example, *.third.example' },
  )
  t.equal(byOrigin('https://app.example', byEnvironment), false)
  t.equal(byOrigin('https://other.example', byEnvironment), true)
  t.equal(byOrigin('https://x.third.example', byEnvironment), true)
})
