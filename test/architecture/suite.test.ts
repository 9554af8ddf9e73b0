// engine: none
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { updatePeers } from '../../bench/peers/readme.ts'
import { updateReadme, withResults } from '../../bench/support/readme.ts'
import type { Report } from '../../bench/support/report.ts'

interface Rule {
  pattern: RegExp
  instead: string
  /** Exceptions, with their reasons. */
  except?: Record<string, string>
  /** Applies to test files only, without their helpers. */
  inTests?: boolean
}

const rules: Record<string, Rule> = {
  'sleeps and timers': {
    pattern: /(?<!\.)\bsetTimeout\(|\bsetTimeout as\b|\bwaitForTimeout\(/,
    instead: 'wait for a condition with until() of support/until.ts',
    except: {
      'support/until.ts': 'polls',
      'platform/database/batches.test.ts': 'a request waits for its turn',
      'support/proxy.ts': 'delays packets',
      'support/postgresql-server.ts': 'kills a server that does not stop',
      'support/client-site.ts': 'protocol times are whole seconds',
      'cluster/check.ts': 'scripts that run in pods wait',
      'cluster/workload.ts': 'a script that runs in a pod waits',
    },
  },
  'real time that passes': {
    pattern: /import \{[^}]*\bpass\b[^}]*\} from '[./\w]*\/until\.ts'/,
    instead: 'wait for a condition with until() of support/until.ts',
    except: {
      'faults/database.test.ts': 'an outage lasts',
      'faults/writers.ts': 'clients pause before a retry',
      'process/reload.test.ts': 'a file that does not change causes no log line',
      'process/stop.test.ts': 'a pause does not end the drain',
      'replicas/oauth-journeys.ts': 'a grace period ends in other processes',
      'replicas/rolling.test.ts': 'clients pause between requests',
      'support/balancer.ts': 'health checks have an interval',
    },
  },
  'a clock that stops while libraries read the real one': {
    pattern: /new TestClock\(Date\.now\(\)\)/,
    instead: 'stopTime() of support/time.ts stops both',
  },
  'limits on elapsed time': {
    pattern: /(Date|performance)\.now\(\) - \w+ <|performance\.now\(/,
    instead: 'assert what happened instead of its duration',
    except: { 'process/stop.test.ts': 'measures the machine to choose the cost of a hash' },
  },
  'fixed numbers of attempts': {
    pattern: /for \(let tries = 0;[^\n]*sleep/,
    instead: 'until() of support/until.ts has no number of attempts',
  },
  'a timeout of its own': {
    pattern: /\bt\.setTimeout\(/,
    instead: '.dev/test.mjs sets one timeout for every file',
    except: {
      'cluster/check.ts': 'runs without .dev/test.mjs',
      'image/built.ts': 'runs without .dev/test.mjs',
      'image/engine.ts': 'runs without .dev/test.mjs',
      'upgrade/rolling.ts': 'runs without .dev/test.mjs',
    },
  },
  'focused tests': {
    pattern: /\.only\(|\bonly: true/,
    instead: 'name the file: npm test -- test/x.test.ts',
  },
  'an upper limit as the only check of a status': {
    pattern:
      /\bt\.\w+\([^\n]*\b(status|statusCode)\) ?< ?\d00\b(?! &&)|\bt\.(ok|equal)\((?![^\n]*filter)[^\n]*\b(status|statusCode) < \d00\b(?! &&)/,
    instead: 'name the expected statuses',
  },
  'tests that return early': {
    pattern: /^ {2}if \((?!!has(Redis|Pgbouncer|Patroni)\(t\))[^\n]*\) return$/m,
    instead: 'declare the test inside the condition, or skip it with a reason',
    inTests: true,
  },
  'a port that is closed before it is used': {
    pattern: /(function|const) freePort\b/,
    instead: 'freePort() of support/port.ts holds the port',
    except: { 'support/port.ts': 'holds the port' },
  },
}

const folder = join(import.meta.dirname, '..')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && file !== 'architecture/suite.test.ts')
  .map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8').replace(/(?<=^|\s)\/\/.*$/gm, '') }))

for (const [name, { pattern, instead, except = {}, inTests = false }] of Object.entries(rules)) {
  t.test(`no test has ${name}`, async (t) => {
    const among = files.filter(({ file }) => !inTests || file.endsWith('.test.ts'))
    const found = among.filter(({ text }) => pattern.test(text)).map(({ file }) => file)
    t.same(
      found.filter((file) => !(file in except)),
      [],
      instead,
    )
    t.same(
      Object.keys(except).filter((file) => !found.includes(file)),
      [],
      'every exception is still needed',
    )
  })
}

t.test('a test file fails if an error is thrown outside of its tests', async (t) => {
  const preload = join(folder, '../.dev/lean-tap.mjs')
  const outcomes = {
    'setImmediate(() => { throw new Error("late") })': 1,
    'setImmediate(() => Promise.reject(new Error("late")))': 1,
    'setImmediate(() => {})': 0,
  }
  const tap = import.meta.resolve('tap')
  for (const [late, expected] of Object.entries(outcomes)) {
    const code = `const { default: t } = await import('${tap}'); t.test('waits', async () => { ${late}; await new Promise(setImmediate) })`
    const file = join(t.testdir({ 'late.test.mjs': code }), 'late.test.mjs')
    const { status } = spawnSync(process.execPath, [`--import=${preload}`, file])
    t.equal(status, expected, late)
  }
})

t.test('README.md and bench/peers.md show the results of the last comparison', async (t) => {
  t.same(updatePeers(true), [], 'run node bench/readme.ts')
})

t.test('bench/README.md shows the results of the last benchmark', async (t) => {
  t.notOk(updateReadme(true), 'run node bench/readme.ts')
  const root = join(folder, '..')
  const readme = readFileSync(join(root, 'bench/README.md'), 'utf8')
  const report: Report = JSON.parse(readFileSync(join(root, 'bench/results/latest.json'), 'utf8'))
  const [first, ...others] = report.results
  if (!first) throw new Error('The report has no results.')
  const changed = withResults(readme, { ...report, results: [{ ...first, ratio: 0.123 }, ...others] })
  t.match(changed, /\| 0\.123 .*\*\*no\*\*/, 'a figure below its target is marked')
  t.not(changed, readme)
  t.throws(() => withResults('# svc\n', report), /no section between/)
})
