// engine: none
import t from 'tap'
import { code, importsOf, innerImports, sources } from '../../support/sources.ts'

const holders = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(code(text))).map(({ file }) => file)

const outside = (pattern: RegExp) => holders(pattern).filter((file) => !file.startsWith('platform/limits/'))

/** Files that use counters without @fastify/rate-limit, and why. */
const direct: Readonly<Record<string, string>> = {
  'contract/command.ts': 'passes the counters to the commands',
  'features/password-reset/request.ts': 'counts in a transaction, once per window',
  'auth/sign-in/login-limiter.ts': 'takes back attempts that succeed, and delays increasingly',
  'app/shared-services.ts': 'opens the counters',
  'auth/sign-in/address-limit.ts': 'takes back attempts that succeed',
  'auth/sign-in/failures-to-clear.ts': 'what a successful attempt clears',
  'auth/sign-in/login-codes.ts': 'counts by the address of the account, and delays increasingly',
  'auth/sign-in/unlock.ts': 'mails once per window in a transaction, and marks links as used',
  'auth/sign-in/new-device.ts': 'notifies once per window in a transaction',
  'platform/mail/budget.ts': 'counts in a transaction, and delays increasingly',
  'platform/mail/mail.ts': 'passes the counters to the budget',
  'platform/workers/link.ts': 'passes the counters of the primary process to the workers',
  'platform/workers/messages.ts': 'describes the counts that processes exchange',
  'platform/workers/shared-counters.ts': 'counts for all workers in the primary process',
  'features/oauth/client-documents/client-documents.ts': 'only some requests of a route fetch a document',
  'features/oauth/clients/client-limits.ts': 'counts failures only',
  'features/oauth/protocol/pending-limits.ts': 'counts records of oidc-provider',
  'features/oauth/protocol/patches/device-flow.ts': 'counts wrong codes only, and the polls of a device',
  'features/oauth/protocol/patches/apply-patches.ts': 'passes the counters to the device flow',
  'features/oauth/protocol/oauth-server.ts': 'passes the counters on',
}

t.test('writes the headers and the 429 of limits in one place', async (t) => {
  const names = [
    'features/health/routes.ts',
    'platform/errors.ts',
    'platform/http/description/problems.ts',
    'tools/doctor/forged-address.ts',
  ]
  t.same(outside(/'retry-after'|x-ratelimit/i), names, 'the Retry-After of each 503, the API description, and a reader')
  t.same(outside(/'too_many_requests'/), [])
  // oidc-provider renders the page for a wrong user code only for an error of its own. Its headers come from `limits`.
  t.same(outside(/\b(HttpError\(429|(code|status)\(429|statusCode = 429)/), [
    'features/oauth/protocol/patches/device-flow.ts',
  ])
})

t.test('counts only in the counters, which the app, the commands and the primary process open', async (t) => {
  t.same(outside(/new (Database|Memory|Redis)Counters\(/), [
    'app/shared-services.ts',
    'cli/run-command.ts',
    'platform/workers/primary.ts',
  ])
  // They count what this process holds in memory, remember which counters to query, and count who waits. Anything else would
  // decide on one replica only.
  const maps = [
    'auth/access/unfinished-bodies.ts',
    'auth/sign-in/attempts-in-flight.ts',
    'features/oauth/clients/client-limits.ts',
    // Counts nothing.
    'features/oauth/clients/secret-uses.ts',
  ]
  t.same(outside(/new Map<string, number>/), maps)
  // Pruning deletes expired rows of every kernel table.
  t.same(outside(/login_limits|\bloginLimit\b/), ['auth/access/prune.ts'])
})

t.test('limits requests with @fastify/rate-limit, except in the listed files', async (t) => {
  const libraries = sources.filter(({ text }) => importsOf(text).includes('@fastify/rate-limit'))
  t.same(
    libraries.map(({ file }) => file),
    ['auth/access/request-limits.ts', 'platform/limits/rate-limit-store.ts'],
  )
  const importing = sources.filter((source) => innerImports(source).includes('platform/limits/counters.ts'))
  const using = new Set([...importing.map(({ file }) => file), ...holders(/\.counters\b|\bcounters\b.*= app$/m)])
  const others = [...using].filter(
    (file) => !/^(platform\/limits\/|app\/app\.ts$|auth\/access\/request-limits\.ts$)/.test(file),
  )
  t.same(others.sort(), Object.keys(direct).sort())
})
