// engine: none
import t from 'tap'
import { localPath } from '../../../src/platform/http/return-to.ts'

const bases = ['http://localhost:8000/oauth/login?x', 'https://auth.example.com/a/b/c']

/** Paths that lead to another site, in every spelling that some browser or server has accepted. */
function attacks(): string[] {
  const slashes = ['/', '\\', '%2f', '%5c', '／', '⁄', '∕', '⧸', '。']
  const between = [
    '',
    '\t',
    '\n',
    '\r',
    '\v',
    '\f',
    '\0',
    ' ',
    '\u00a0',
    '\u2028',
    '\ufeff',
    '%09',
    '%0a',
    '%0d%0a',
    '%00',
    '%20',
    '.',
  ]
  const targets = [
    'evil.example',
    'evil.example/',
    '@evil.example',
    'localhost:8000@evil.example',
    'evil.example:80/a?b#c',
    '[::1]',
    '1.2.3.4',
  ]
  const prefixes = [
    '',
    '.',
    '/.',
    '/..',
    '/%2e%2e',
    '/a/..',
    '/a/../..',
    '/./.',
    '/%2e/',
    '/?',
    '/#',
    '/;',
    ' ',
    '\t',
    '\ufeff',
  ]
  const crossed = prefixes.flatMap((prefix) =>
    slashes.flatMap((first) =>
      between.flatMap((gap) =>
        slashes.slice(0, 4).flatMap((second) => targets.map((target) => `${prefix}${first}${gap}${second}${target}`)),
      ),
    ),
  )
  const schemes = [
    'http:',
    'https:',
    'javascript:',
    'data:text/html,',
    'JaVaScRiPt:',
    'java\tscript:',
    'vbscript:',
    'file:',
    'blob:',
    'ftp:',
  ]
  return [
    ...crossed,
    ...schemes.flatMap((scheme) => [
      `${scheme}evil.example`,
      `${scheme}/evil.example`,
      `${scheme}//evil.example`,
      `/${scheme}//evil.example`,
    ]),
    ...[
      '',
      '.',
      '..',
      '?a',
      '#a',
      'a',
      'a/b',
      '@evil.example',
      ':80',
      '\ud800',
      '/\ud800',
      '/a\r\nSet-Cookie: x=y',
      `/${'a'.repeat(5000)}`,
    ],
  ]
}

t.test('rejects every path to another site, and returns accepted paths unchanged', async (t) => {
  const texts = attacks()
  t.ok(texts.length > 10_000)
  const wrong: string[] = []
  let taken = 0
  for (const text of texts) {
    const path = localPath(text)
    if (path === null) continue
    taken++
    const stays = bases.every((base) => {
      const url = new URL(path, base)
      return url.origin === new URL(base).origin && url.username === '' && !url.pathname.startsWith('//')
    })
    if (!stays || !/^\/(?![/\\])[\x21-\x7e]*$/.test(path) || localPath(path) !== path)
      wrong.push(JSON.stringify([text, path]))
  }
  t.same(wrong.slice(0, 10), [])
  t.ok(taken > 100, 'local paths are accepted')
})

t.test('limits a path to 4096 characters, without control characters, backslashes or lone surrogates', async (t) => {
  t.equal(localPath(`/${'a'.repeat(4_095)}`)?.length, 4_096)
  t.equal(localPath(`/${'a'.repeat(4_096)}`), null)
  for (const text of ['\\', '\n', '\t', '\0', '\x7f', '\x85', '\u2028', '\u2029', '\ud800', '\udc00']) {
    t.equal(localPath(`/a${text}b`), null, `U+${text.charCodeAt(0).toString(16)} in the path`)
    t.equal(localPath(`/a?b=${text}`), null, `U+${text.charCodeAt(0).toString(16)} in the query`)
    t.equal(localPath(`/a#${text}`), null, `U+${text.charCodeAt(0).toString(16)} in the fragment`)
  }
})

t.test('accepts local paths unchanged, and only strings', async (t) => {
  const good = [
    '/',
    '/a',
    '/a/b?c=d&e=f#g',
    '/email/verify/1/ab?expires=1&signature=a-_b',
    '/?return_to=//evil.example',
    '/a//b',
    '/a@b',
    '/:80',
  ]
  for (const path of good) t.equal(localPath(path), path)
  t.equal(localPath('/ü?ß'), '/%C3%BC?%C3%9F')
  for (const value of [undefined, null, 5, {}, [], ['/a'], true]) t.equal(localPath(value), null)
})
