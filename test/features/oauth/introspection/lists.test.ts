import { SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { secretHash } from '../../../../src/auth/tokens/token-string.ts'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { Scrape } from '../../../support/metrics.ts'
import { basic, codeFlow, introspect, oauthSettings, Person, post, secret, token } from '../../../support/oauth.ts'
import { testEngine } from '../../../support/postgresql.ts'
import { freePort } from '../../../support/process.ts'
import { stopTime } from '../../../support/time.ts'

const dead = { active: false }

/** A page whose calls pass through the OAuth library, which sets their CORS headers. */
const page = { origin: 'https://page.example' }

const settings = {
  ...oauthSettings,
  clients: oauthSettings.clients.map((client) =>
    client.client_id === 'watcher' ? { ...client, cors_origins: [page.origin] } : client,
  ),
}

const listed = (svc: TestApp, client: string, texts: readonly string[]) =>
  post(
    svc,
    '/oauth/introspect',
    client,
    new URLSearchParams(texts.map((text): [string, string] => ['tokens[]', text])).toString(),
  )

const listedJson = (svc: TestApp, client: string, texts: unknown) =>
  svc.app.inject({
    method: 'POST',
    url: '/oauth/introspect',
    headers: basic(client),
    payload: { tokens: texts as object },
  })

/** Valid and invalid tokens of every kind. */
async function everyKind(svc: TestApp): Promise<string[]> {
  const ada = await svc.createUser({ role: 'staff' })
  const [one, two] = [await svc.createToken(ada), await svc.createToken(ada, { abilities: ['orders:read'] })]
  const expired = await svc.createToken(ada, { expiresAt: new Date(svc.clock.now()) })
  const legacy = await svc.createToken(ada)
  await svc.database.prisma.personalAccessToken.update({
    where: { id: BigInt(legacy.split('|')[0] ?? '') },
    data: { token: secretHash('legacy') },
  })
  const web = await codeFlow(svc, new Person(svc, ada.email), 'web', { scope: 'openid orders:read' })
  const other = await codeFlow(svc, new Person(svc, ada.email), 'other', { scope: 'openid' })
  const browser = svc.browser()
  await browser.signIn(ada.email)
  const fresh: string = (await browser.post('/oauth/token/fresh')).json().access_token
  const personal = await browser.post('/oauth/personal-access-tokens', { name: 'Backup', scopes: ['orders:read'] })
  const machine = (await token(svc, 'machine', { grant_type: 'client_credentials' })).json().access_token
  const valid = [one, two, 'legacy', web.access_token, web.refresh_token, fresh, personal.json().accessToken, machine]
  const invalid = [`${one}x`, '999999|unknown', expired, 'unknown', `${web.access_token}x`, 'a.b.c', '', ' ', '|', '\0']
  return [...valid, other.access_token, other.refresh_token, ...invalid, one, `${'9'.repeat(30)}|x`, 'x'.repeat(10_000)]
}

t.test('describes each token of a list as the request for that token alone', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const texts = await everyKind(svc)
  for (const client of ['watcher', 'web', 'machine']) {
    const alone: object[] = []
    for (const text of texts) alone.push(text === '' ? dead : await introspect(svc, client, text))
    const answer = await listed(svc, client, texts)
    t.equal(answer.statusCode, 200, answer.body)
    t.equal(answer.headers['cache-control'], 'no-store')
    t.strictSame(answer.json(), { tokens: alone }, client)
    const active = answer.json().tokens.filter((state: { active: boolean }) => state.active).length
    t.equal(active, { watcher: 11, web: 2, machine: 1 }[client], `${client} sees its own tokens only`)
    t.strictSame((await listedJson(svc, client, texts)).json(), { tokens: alone }, 'as JSON')
  }
  const open = await listed(svc, 'spa', texts)
  t.match([open.statusCode, open.json().error], [400, 'unauthorized_client'], 'a public client proves nothing')
})

t.test('gives the same response to every way to authenticate', async (t) => {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const texts = await everyKind(svc)
  const inBody = { client_id: 'watcher', client_secret: secret }
  const byHeader = await listedJson(svc, 'watcher', texts)
  const ask = (payload: object, headers = {}) =>
    svc.app.inject({ method: 'POST', url: '/oauth/introspect', headers, payload })
  const fromPage = { ...basic('watcher'), ...page }
  for (const answer of [await ask({ ...inBody, tokens: texts }), await ask({ tokens: texts }, fromPage)]) {
    t.equal(answer.statusCode, 200)
    t.strictSame(answer.json(), byHeader.json())
    for (const name of ['content-type', 'cache-control', 'x-content-type-options']) {
      t.equal(answer.headers[name], byHeader.headers[name], name)
    }
  }
  for (const headers of [basic('watcher'), fromPage]) {
    t.strictSame((await ask({ token: texts[0] }, headers)).json(), byHeader.json().tokens[0])
  }
})

t.test('shows a revocation in the next list, and keeps the neighbours of an invalid token', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const ada = await svc.createUser()
  const [one, two] = [await svc.createToken(ada), await svc.createToken(ada)]
  const machine = (await token(svc, 'machine', { grant_type: 'client_credentials' })).json().access_token
  const states = async () => {
    const answer = await listed(svc, 'watcher', [one, '\0', two, machine])
    return answer.json().tokens.map(({ active }: { active: boolean }) => active)
  }
  t.same(await states(), [true, false, true, true])
  t.equal((await svc.bearer(one, 'DELETE', '/api/tokens/current')).statusCode, 200)
  t.same(await states(), [false, false, true, true])
  await post(svc, '/oauth/revoke', 'machine', { token: machine })
  t.same(await states(), [false, false, true, false])
})

/** svc, and the number of lookup queries that a request causes. */
async function counting(t: Test) {
  const port = await freePort()
  const measured = { ...settings, metrics: { port }, server: { host: '127.0.0.1' } }
  const svc = await buildTestApp(t, { settings: measured })
  const total = async () => (await Scrape.of(port)).value('svc_lookup_batch_size_count') ?? 0
  const queriesOf = async (run: () => Promise<unknown>) => {
    const before = await total()
    await run()
    return (await total()) - before
  }
  return { svc, queriesOf }
}

/** The most queries for a list. PostgreSQL needs more, because two concurrent queries share the keys. */
const most = testEngine === 'postgresql' ? { apiTokens: 2, jwts: 5, mixed: 16 } : { apiTokens: 1, jwts: 3, mixed: 12 }

t.test('looks up a list of a hundred tokens with few queries', async (t) => {
  const { svc, queriesOf } = await counting(t)
  const ada = await svc.createUser()
  const apiTokens = await Promise.all(Array.from({ length: 100 }, () => svc.createToken(ada)))
  const active = async (texts: readonly string[]) =>
    (await listed(svc, 'watcher', texts)).json().tokens.filter((state: { active: boolean }) => state.active).length
  t.equal(await queriesOf(async () => t.equal(await active(apiTokens), 100)), most.apiTokens, 'API tokens')

  const browser = svc.browser()
  await browser.signIn(ada.email)
  const jwts: string[] = []
  for (let n = 0; n < 40; n++) jwts.push((await browser.post('/oauth/token/fresh')).json().access_token)
  const forJwts = await queriesOf(async () => t.equal(await active(jwts), 40))
  t.ok(forJwts <= most.jwts, `${forJwts} queries for the user, the session and the denials of 40 JWTs`)
  const mixed = [...apiTokens.slice(0, 40), ...jwts, ...(await everyKind(svc)).slice(0, 8)]
  const queries = await queriesOf(async () => t.equal(await active(mixed), 88))
  t.ok(queries <= most.mixed, `${queries} queries for 88 tokens`)
})

t.test('rejects malformed lists with a description', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const text = await svc.createToken(await svc.createUser())
  const list = (count: number) => Array.from({ length: count }, (): [string, string] => ['tokens[]', text])
  const forms: [string, [string, string][], RegExp][] = [
    ['both', [['token', text], ...list(1)], /either token or tokens\[\]/],
    ['too many', list(101), /at most 100 values \(found 101\)/],
    ['nothing', [], /'token'/],
    ['an empty token', [['token', '']], /'token'/],
    [
      'a repeated token',
      [
        ['token', text],
        ['token', text],
      ],
      /must not be provided twice/,
    ],
    ...['token[]', 'tokens', 'tokens[0]', 'token[0]', 'tokens.0', 'Tokens[]', 'tokens[][]', ' tokens[0]'].flatMap(
      (name): [string, [string, string][], RegExp][] => [
        [name, [[name, text]], /repeat the parameter tokens\[\]/],
        [
          `token and ${name}`,
          [
            ['token', text],
            [name, text],
          ],
          /repeat the parameter tokens\[\]/,
        ],
        [`a list and ${name}`, [...list(2), [name, text]], /repeat the parameter tokens\[\]/],
      ],
    ),
  ]
  for (const [what, fields, description] of forms) {
    for (const more of [{}, page]) {
      const answer = await svc.app.inject({
        method: 'POST',
        url: '/oauth/introspect',
        headers: { ...basic('watcher'), 'content-type': 'application/x-www-form-urlencoded', ...more },
        payload: new URLSearchParams(fields).toString(),
      })
      t.equal(answer.statusCode, 400, what)
      t.match(answer.json(), { error: 'invalid_request', error_description: description }, what)
      t.notOk(answer.body.includes(text))
    }
  }
  t.equal((await listed(svc, 'watcher', Array(100).fill(text))).statusCode, 200, 'a hundred')
  for (const tokens of [[], text, {}, null, 7, true, [7], [null], [text, ['x']], [{}]]) {
    const answer = await listedJson(svc, 'watcher', tokens)
    t.equal(answer.statusCode, 400, JSON.stringify(tokens).slice(0, 20))
    t.match(answer.json(), { error: 'invalid_request', error_description: /tokens must be an array of strings/ })
  }
  const long = await listed(svc, 'watcher', Array(100).fill('x'.repeat(3_000)))
  const longJson = await listedJson(svc, 'watcher', Array(100).fill('x'.repeat(3_000)))
  for (const answer of [long, longJson]) {
    t.equal(answer.statusCode, 400)
    t.match(answer.json(), { error: 'invalid_request', error_description: /too large/ })
  }
})

t.test('accepts a hundred long access tokens', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const machine = (await token(svc, 'machine', { grant_type: 'client_credentials' })).json().access_token
  const { jti, ...claims } = JSON.parse(Buffer.from(machine.split('.')[1], 'base64url').toString())
  const key = await svc.app.oauth.signingKey()
  const long = await new SignJWT({ ...claims, jti, filler: 'x'.repeat(1_200) })
    .setProtectedHeader({ alg: key.alg, typ: 'at+jwt', kid: key.kid })
    .sign(key)
  const { tokens } = (await listed(svc, 'watcher', Array(100).fill(long))).json()
  t.equal(tokens.filter((state: { active: boolean }) => state.active).length, 100)
})

t.test('authenticates the client before it answers for a list', async (t) => {
  const limited = {
    ...settings,
    rate_limits: { token: '3/1m' },
    clients: [
      ...oauthSettings.clients,
      {
        client_id: 'strict',
        type: 'confidential',
        secret,
        introspect: true,
        grants: ['client_credentials'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
  }
  const svc = await buildTestApp(t, { settings: limited })
  const text = await svc.createToken(await svc.createUser())
  const ask = (payload: Record<string, unknown>, headers: Record<string, string> = {}) =>
    svc.app.inject({ method: 'POST', url: '/oauth/introspect', headers, payload: { tokens: [text], ...payload } })
  const strict = { client_id: 'strict', client_secret: secret }
  t.match((await ask(strict)).json(), { tokens: [{ active: true }] })
  const refused: [string, Promise<{ statusCode: number }>, number][] = [
    ['no client', ask({}), 400],
    ['another method', ask({}, basic('strict')), 401],
    ['two methods', ask({ client_secret: secret }, basic('watcher')), 400],
    ['another client in the body', ask({ client_id: 'web' }, basic('watcher')), 400],
    ['an unknown client', ask({}, basic('unknown')), 401],
    ['no secret', ask({ client_id: 'watcher' }), 401],
    ['another scheme', ask({}, { authorization: `Bearer ${text}` }), 400],
  ]
  for (const [what, answer, status] of refused) t.equal((await answer).statusCode, status, what)
  const twice = `client_id=watcher&client_id=strict&client_secret=${secret}&tokens[]=${encodeURIComponent(text)}`
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const repeated = await svc.app.inject({ method: 'POST', url: '/oauth/introspect', headers, payload: twice })
  t.equal(repeated.statusCode, 400, 'a repeated client_id')

  for (const expected of [401, 401, 429]) t.equal((await ask({}, basic('watcher', 'wrong'))).statusCode, expected)
  t.equal((await ask({}, basic('watcher'))).statusCode, 429, 'the limit holds for the right secret too')
  svc.clock.advance(61_000)
  t.equal((await ask({}, basic('watcher'))).statusCode, 200)
})
