// engine: postgresql
// process: own
import { readFileSync } from 'node:fs'
import type { LightMyRequestResponse } from 'fastify'
import pg from 'pg'
import t from 'tap'
import type { CostReport } from '../../../bench/support/costs-report.ts'
import { fillPostgresql } from '../../../bench/support/rows.ts'
import { buildTestApp } from '../../support/app.ts'
import {
  clients,
  oauthSettings,
  Person,
  passwordClient,
  post,
  redeem,
  refresh,
  request,
  response,
  token,
} from '../../support/oauth.ts'
import { createTestDatabase } from '../../support/postgresql.ts'
import { recordRoundTrips } from '../../support/round-trips.ts'

const results = new URL('../../../bench/results/costs.json', import.meta.url)
const { operations }: CostReport = JSON.parse(readFileSync(results, 'utf8'))

/** Operations read only single rows of these tables. */
const large = new Set(['users', 'personal_access_tokens', 'sessions'])

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  Plans?: Plan[]
}

const scans = (plan: Plan): string[] => [
  ...(plan['Node Type'] === 'Seq Scan' ? [plan['Relation Name'] ?? ''] : []),
  ...(plan.Plans ?? []).flatMap(scans),
]

t.test('takes no more round trips than docs/scaling.md says, without scans of large tables', async (t) => {
  const { url, drop } = await createTestDatabase()
  t.teardown(drop)
  await fillPostgresql(url, { users: 5_000, tokens: 5_000, sessions: 5_000 }, 'unused')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())

  const trips = recordRoundTrips(t)
  const settings = { ...oauthSettings, clients: [...clients, passwordClient] }
  const svc = await buildTestApp(t, { settings, database: { url } })
  // The names of the rows are taken.
  const userOf = (name: string) => svc.createUser({ email: `${name}@example.org` })
  const user = await userOf('ada')
  const bearer = await svc.createToken(user)
  const loginOf = ({ email }: { email: string }) => ({ email, password: 'correct horse' })
  const login = loginOf(user)
  const ownPage = { 'sec-fetch-site': 'same-origin' }
  const texts = new Map<string, unknown[]>()
  const measured = new Map<string, number>()
  const measure = async (name: string, work: () => Promise<LightMyRequestResponse>, status = 200) => {
    const sent = await trips.during(async () => {
      const answer = await work()
      t.equal(answer.statusCode, status, `${name}: ${answer.body}`)
    })
    measured.set(name, sent.length)
    for (const { text, values } of sent) texts.set(text, values)
  }

  // The first token creates the keys.
  await token(svc, 'machine', { grant_type: 'client_credentials' })
  await measure('client-credentials', () => token(svc, 'machine', { grant_type: 'client_credentials' }))

  // Each of these has a different user, because merging a notice with a waiting one takes one more round trip.
  const signsIn = loginOf(await userOf('grace'))
  await measure('login-new', () => svc.browser().post('/login', signsIn, ownPage))
  const hasPhone = loginOf(await userOf('joan'))
  await measure('device-login', () => svc.bearer(null, 'POST', '/svc/token', { ...hasPhone, device_name: 'phone' }))
  const hasToken = await svc.createToken(await userOf('radia'))
  await measure('create-token', () => svc.bearer(hasToken, 'POST', '/api/tokens/create', { token_name: 'ci' }))

  const browser = svc.browser()
  await browser.becomeKnown(user.email)
  await measure('login', () => browser.post('/login', login, ownPage))
  await measure('session', () => browser.get('/api/user'))
  await measure('logout', () => browser.post('/logout'))
  await measure('bearer', () => svc.bearer(bearer, 'GET', '/api/user'))

  const person = new Person(svc, user.email)
  await person.signIn()
  let tokens = { access_token: '', refresh_token: '' }
  const flow = async () => {
    const { code = '' } = response(await person.authorize(request('own', { scope: 'openid orders:read' })))
    const answer = await redeem(svc, 'own', code)
    tokens = answer.json()
    return answer
  }
  await measure('code-flow', flow)
  const rotate = async () => {
    const answer = await refresh(svc, 'own', tokens.refresh_token)
    tokens = answer.json()
    return answer
  }
  // The first rotation also extends the grant, and later ones rarely do.
  await rotate()
  await measure('refresh', rotate)
  await measure('jwt', () => svc.bearer(tokens.access_token, 'GET', '/api/user'))
  const introspected = () => post(svc, '/oauth/introspect', 'watcher', { token: tokens.access_token })
  await measure('introspection', introspected)

  for (const { name, title, statements } of operations) {
    t.equal(measured.get(name), Math.round(statements), `${title}; run npm run bench:costs if this is intended`)
  }
  t.same([...measured.keys()].toSorted(), operations.map(({ name }) => name).toSorted())

  // PostgreSQL decides after five uses.
  for (let use = 0; use < 6; use++) await svc.bearer(bearer, 'GET', '/api/user')
  const pool = svc.app.lookups.pool as unknown as pg.Pool
  const plans = "SELECT generic_plans FROM pg_prepared_statements WHERE name = 'token-by-id-one'"
  const { rows: planned } = await pool.query(plans)
  t.ok(Number(planned[0]?.generic_plans) > 0, 'a lookup of one key is planned once')

  for (const [text, values] of texts) {
    if (!/^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(text)) continue
    const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${text}`, values)
    t.same(
      scans(rows[0]['QUERY PLAN'][0].Plan).filter((name) => large.has(name)),
      [],
      text,
    )
  }
})
