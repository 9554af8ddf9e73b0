// engine: none
import { join } from 'node:path'
import t from 'tap'
import { isInFullLane, reachedBy, testFiles } from '../../.dev/test-files.ts'
import { root } from '../support/sources.ts'

const at = (file: string): string => join(root, file)
const all = testFiles(at('test'))

/** Which of these test files a change of a file reaches. */
const reached = (changed: string, ...tests: string[]): string[] => {
  const found = reachedBy([at(changed)], all)
  return tests.filter((test) => found.includes(at(test)))
}

t.test('the quick lane leaves out marked files, users of marked helpers, and files for PostgreSQL', async (t) => {
  t.ok(isInFullLane(at('test/faults/kills.test.ts')), 'marked')
  t.ok(isInFullLane(at('test/journeys/social.test.ts')), 'starts a browser through a helper')
  t.ok(isInFullLane(at('test/proxies/sizes.test.ts')), 'starts a proxy through a helper')
  t.ok(isInFullLane(at('test/platform/database/statement-names.test.ts')), 'needs PostgreSQL')
  t.notOk(isInFullLane(at('test/features/session/login.test.ts')))
  t.ok(all.filter((file) => !isInFullLane(file)).length > all.length / 2, 'most files are in the quick lane')
})

t.test('a change reaches the tests that import it, and those beside it', async (t) => {
  const totp = 'test/platform/crypto/totp.test.ts'
  const cli = 'test/cli/cli.test.ts'
  t.same(reached('src/platform/crypto/totp.ts', totp, cli), [totp], 'what it imports itself')
  const beside = all
    .filter((file) => file.startsWith(at('test/features/tokens/')))
    .map((file) => file.slice(root.length + 1))
  t.same(reached('src/features/tokens/routes.ts', ...beside, cli, totp), beside, 'a route of a feature')
  t.same(reached('test/support/chromium.ts', 'test/journeys/social.test.ts', totp), ['test/journeys/social.test.ts'])
  t.same(reached('src/main.ts', 'test/process/start.test.ts', totp), ['test/process/start.test.ts'], 'a started script')
  t.same(reached('README.md', totp, cli), [])
})
