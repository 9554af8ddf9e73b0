// engine: none
// lane: all
import { spawnSync } from 'node:child_process'
import { join, posix } from 'node:path'
import t, { type Test } from 'tap'
import { readingsOf, UnreadablePath } from '../../../../src/platform/guard-rules/path-readings.ts'
import { isAvailable } from '../../../support/available.ts'

/** Another seed tries other targets. */
const seed = Number(process.env.SVC_TEST_SEED ?? 1)
const count = Number(process.env.SVC_TEST_TARGETS ?? 24_000)

/** Returns numbers from 0 up to a bound (mulberry32). */
function randomIntegers(start: number): (bound: number) => number {
  let state = start
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

const words = [
  'admin',
  'public',
  'orders',
  '1',
  'x',
  'a.b',
  'user@host',
  'host:80',
  '[::1]',
  'caf%C3%A9',
  '..',
  '.',
  '',
]
const separators = ['/', '/', '/', '//', '///', '/./', '/../', ';', ';v=1', ':', '@', '%2f', '%5c', '%2e', '%252e']
const ends = ['', '', '', '?a=b', '?/admin', '#x', '%3fa', '%23', '?a:1', '?//admin/x', ';p?q', '/', '//']
const odd = [
  ' ',
  '%20',
  '+',
  '\t',
  '%09',
  '%0a',
  '%00',
  '\\',
  '|',
  '{',
  '^',
  '`',
  '"',
  '<',
  '%',
  '%zz',
  '%ff',
  'é',
  '=',
  '&',
]

function randomTarget(random: (bound: number) => number): string {
  const pick = (list: readonly string[]): string => list[random(list.length)] ?? ''
  let target = random(3) === 0 ? pick(['//', '///', '////', '/\\', '/.//', '/;//', '/%2f']) : '/'
  const length = 1 + random(5)
  for (let part = 0; part < length; part++) {
    target += pick(words)
    if (random(6) === 0) target += pick(odd)
    if (part < length - 1) target += pick(separators)
  }
  return target + pick(ends)
}

const random = randomIntegers(seed)
const targets = Array.from({ length: count }, () => randomTarget(random))

/** Reading of a service that decodes too; null if it rejects the target. */
function decodedBy(read: () => string): string | null {
  try {
    return read()
  } catch {
    return null
  }
}

function pathsOfNode(target: string): (string | null)[] {
  const plain = target.split('?', 1)[0] ?? ''
  const url = decodedBy(() => new URL(target, 'http://base.example').pathname)
  const whole = decodedBy(() => new URL(`http://base.example${target}`).pathname)
  const found = [plain, url, whole]
  const decoded = found.map((path) => (path === null ? null : decodedBy(() => decodeURIComponent(path))))
  return [...found, ...decoded, ...decoded.map((path) => path && posix.normalize(path))]
}

function pathsOf(program: string, file: string): (string | null)[][] {
  const { stdout, stderr, status } = spawnSync(program, [join(import.meta.dirname, file)], {
    input: JSON.stringify(targets),
    maxBuffer: 1 << 30,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

/** Rules ignore slashes at the end, and no pattern but a catch-all matches a path that begins with two. */
const segmentsOf = (path: string): string => (path.startsWith('//') ? '//' : path.replace(/\/+$/, ''))

/** Tests whether svc reads the target as the service does, or rejects it. */
function isForeseen(target: string, path: string): boolean {
  try {
    const readings = readingsOf(target.replace(/\?.*$/s, '')).map(segmentsOf)
    if (readings.includes(segmentsOf(path))) return true
    // Some parsers encode characters that clients sent as they are.
    const decoded = decodedBy(() => decodeURIComponent(path))
    return decoded !== null && readings.includes(segmentsOf(decoded))
  } catch (error) {
    if (error instanceof UnreadablePath) return true
    throw error
  }
}

function compare(t: Test, paths: (target: string, index: number) => (string | null)[]): void {
  const missed: string[] = []
  for (const [index, target] of targets.entries()) {
    for (const path of paths(target, index)) {
      if (path?.startsWith('/') && !isForeseen(target, path)) missed.push(`${target} is read as ${path}`)
    }
  }
  t.same([...new Set(missed)].slice(0, 20), [], `seed ${seed}`)
}

t.test('reads targets as URL parsers of Node do', async (t) => compare(t, pathsOfNode))

for (const [name, program, file] of [
  ['Python', 'python3', 'parse.py'],
  ['PHP', 'php', 'parse.php'],
] as const) {
  t.test(`reads targets as URL parsers of ${name} do`, async (t) => {
    const isInstalled = spawnSync(program, ['--version']).status === 0
    if (!isAvailable(t, isInstalled, `not installed: ${program} (its URL parsers were not compared)`)) return
    const paths = pathsOf(program, file)
    compare(t, (_target, index) => paths[index] ?? [])
  })
}

t.test('accepts most of the targets that are plain', async (t) => {
  const plain = targets.filter((target) => /^(?:\/[a-z0-9]+(?:\.[a-z])?)+\/?$/.test(target))
  t.ok(plain.length > 100)
  for (const target of plain) t.doesNotThrow(() => readingsOf(target), target)
})
