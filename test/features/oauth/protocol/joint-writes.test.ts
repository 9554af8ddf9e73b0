// engine: postgresql
import t, { type Test } from 'tap'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import {
  codeFlow,
  oauthSettings,
  Person,
  redeem,
  refresh,
  request,
  response,
  type Tokens,
} from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const people = 12

interface User {
  id: number
  ada: Person
}

async function begin(t: Test): Promise<{ svc: TestApp; users: User[] }> {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const users: User[] = []
  for (let i = 0; i < people; i++) {
    const user = await svc.createUser()
    const ada = new Person(svc, user.email)
    // svc remembers the consent, so that later flows need none.
    await codeFlow(svc, ada, 'web', { scope: 'openid' })
    users.push({ id: user.id, ada })
  }
  return { svc, users }
}

/** Calls `before` before each statement; returns the names of all. */
function watchStatements(svc: TestApp, before: (name: string) => Promise<void> | void = () => {}): string[] {
  const { pg } = svc.database
  if (!pg) throw new Error('These tests need PostgreSQL.')
  const query = pg.query.bind(pg) as (...args: unknown[]) => Promise<unknown>
  const names: string[] = []
  Reflect.set(pg, 'query', async (...args: [{ name?: string }]) => {
    const { name = '' } = args[0]
    names.push(name)
    await before(name)
    return query(...args)
  })
  return names
}

const flows = (svc: TestApp, users: User[]): Promise<Tokens[]> =>
  Promise.all(users.map(({ ada }) => codeFlow(svc, ada, 'web', { scope: 'openid' })))

const subjectOf = (jwt = ''): unknown => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()).sub

/** Locks a row until the returned function is called. */
async function lock(svc: TestApp, table: string, where: string): Promise<() => Promise<void>> {
  const client = await svc.database.pg?.connect()
  if (!client) throw new Error('These tests need PostgreSQL.')
  await client.query('BEGIN')
  const { rowCount } = await client.query(`SELECT 1 FROM ${table} WHERE ${where} FOR UPDATE`)
  if (!rowCount) throw new Error('There is no such row.')
  return async () => {
    await client.query('COMMIT')
    client.release()
  }
}

t.test('writes concurrent code flows and refreshes together, and gives all users their tokens', async (t) => {
  const { svc, users } = await begin(t)
  const names = watchStatements(svc)
  const tokens = await flows(svc, users)
  const answers = await Promise.all(tokens.map(({ refresh_token }) => refresh(svc, 'web', refresh_token)))
  for (const [i, answer] of answers.entries()) {
    const refreshed: Tokens = answer.json()
    const subjects = [tokens[i]?.id_token, tokens[i]?.access_token, refreshed.id_token, refreshed.access_token].map(
      subjectOf,
    )
    t.strictSame(new Set(subjects), new Set([String(users[i]?.id)]))
    t.equal((await refresh(svc, 'web', refreshed.refresh_token)).statusCode, 200)
  }
  for (const name of ['oauth-insert-granted', 'oauth-exchange', 'oauth-rotate']) {
    t.ok(names.includes(`${name}-many`), `${name}: concurrent requests share a statement`)
    t.notOk(names.includes(name), `${name}: no request needs a second statement`)
  }
})

t.test('accepts a code once, however many requests use it concurrently', async (t) => {
  const { svc, users } = await begin(t)
  const codes = await Promise.all(
    users.slice(0, 3).map(async ({ ada }) => response(await ada.allow(request('web', { scope: 'openid' }))).code ?? ''),
  )
  const answers = await Promise.all(codes.flatMap((code) => Array.from({ length: 8 }, () => redeem(svc, 'web', code))))
  for (const i of codes.keys()) {
    const statuses = answers.slice(8 * i, 8 * i + 8).map(({ statusCode }) => statusCode)
    t.strictSame(statuses.sort(), [200, 400, 400, 400, 400, 400, 400, 400])
  }
})

t.test('gives concurrent refreshes with the same token the same successor', async (t) => {
  const { svc, users } = await begin(t)
  const [one, two] = await flows(svc, users.slice(0, 2))
  const both = [one, two].flatMap((tokens) => Array.from({ length: 6 }, () => tokens?.refresh_token ?? ''))
  const answers = await Promise.all(both.map((value) => refresh(svc, 'web', value)))
  t.strictSame(new Set(answers.map(({ statusCode }) => statusCode)), new Set([200]))
  const successors = answers.map((answer) => answer.json().refresh_token)
  t.equal(new Set(successors.slice(0, 6)).size, 1)
  t.equal(new Set(successors).size, 2)
})

t.test('answers other requests while a transaction locks the token of one', async (t) => {
  const { svc, users } = await begin(t)
  const tokens = await flows(svc, users)
  const unlock = await lock(svc, 'oauth_records', `kind = 'RefreshToken' AND user_id = ${users[0]?.id}`)
  const [locked, ...others] = tokens.map(({ refresh_token }) => refresh(svc, 'web', refresh_token))
  for (const answer of await Promise.all(others)) t.equal(answer.statusCode, 200)
  await unlock()
  t.equal((await locked)?.statusCode, 200)
})

t.test('answers other requests while a transaction locks the session of one', async (t) => {
  const { svc, users } = await begin(t)
  const unlock = await lock(svc, 'sessions', `user_id = ${users[0]?.id}`)
  const [locked, ...others] = users.map(({ ada }) => codeFlow(svc, ada, 'web', { scope: 'openid' }))
  for (const tokens of await Promise.all(others)) t.ok(tokens.access_token)
  await unlock()
  t.ok((await locked)?.access_token)
})

t.test('refreshes the tokens of other users when an account is deleted in the same moment', async (t) => {
  const { svc, users } = await begin(t)
  const tokens = await flows(svc, users)
  const gone = users.at(-1)
  const deleted = watchStatements(svc, async (name) => {
    if (name !== 'oauth-rotate-many' || deleted.includes('deleted')) return
    deleted.push('deleted')
    await svc.database.prisma.user.deleteMany({ where: { id: BigInt(gone?.id ?? 0) } })
  })
  const answers = await Promise.all(tokens.map(({ refresh_token }) => refresh(svc, 'web', refresh_token)))
  const last = answers.pop()
  t.ok(deleted.includes('deleted'))
  for (const { statusCode } of answers) t.equal(statusCode, 200)
  t.match([last?.statusCode, last?.json()], [400, { error: 'invalid_grant' }])
})

t.test('uses up no token while the database is unavailable', async (t) => {
  const { svc, users } = await begin(t)
  const tokens = await flows(svc, users)
  const state = { isDown: true }
  watchStatements(svc, (name) => {
    if (state.isDown && name.startsWith('oauth-')) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
  })
  const use = () => Promise.all(tokens.map(({ refresh_token }) => refresh(svc, 'web', refresh_token)))
  for (const { statusCode, headers } of await use()) t.match([statusCode, headers['retry-after']], [503, '1'])
  state.isDown = false
  for (const { statusCode } of await use()) t.equal(statusCode, 200)
})
