import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { assertion, newKey, proof } from '../features/oauth/clients/parties.ts'
import { buildTestApp, type Settings, type TestApp } from '../support/app.ts'
import { minute } from '../support/clock.ts'
import {
  basic,
  callback,
  clients,
  codeFlow,
  oauthSettings,
  Person,
  post,
  redeem,
  refresh,
  request,
  response,
  revoke,
  token,
} from '../support/oauth.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { stopTime } from '../support/time.ts'

const size = 30
const key = await newKey('ES256')
const device = 'urn:ietf:params:oauth:grant-type:device_code'
const scope = { scope: 'openid orders:read' }

const signer = { client_id: 'signer', type: 'confidential', jwks: { keys: [key.jwk] }, grants: ['client_credentials'] }

/** Two replicas on one PostgreSQL database, which get requests in turn, and one Redis if it is given. */
async function build(t: Test, redis?: string) {
  const settings: Settings = JSON.parse(
    JSON.stringify({
      ...oauthSettings,
      clients: [...clients, { ...signer, scopes: ['orders:read'] }],
      rate_limits: { token: null, authorization: null },
      ...(redis ? { redis: { url: redis } } : {}),
    }),
  )
  const clock = stopTime(t)
  const svc = await buildTestApp(t, { settings, clock })
  // SQLite supports one process.
  const isShared = svc.database.engine === 'postgresql'
  const other = isShared ? await buildTestApp(t, { settings, clock, database: svc.where }) : svc
  return { svc, other, pick: (index: number): TestApp => (index % 2 === 0 ? svc : other) }
}

type Built = Awaited<ReturnType<typeof build>>

const crowd = (send: (index: number) => Promise<LightMyRequestResponse>, count = size) =>
  Promise.all(Array.from({ length: count }, (_, index) => send(index)))

/** The number of answers by status, with their error codes. */
function outcomes(answers: readonly LightMyRequestResponse[]): Record<string, number> {
  const found: Record<string, number> = {}
  for (const { statusCode, headers, body } of answers) {
    const error = /json/.test(String(headers['content-type'])) && body !== '' ? JSON.parse(body).error : undefined
    const name = error ? `${statusCode} ${error}` : String(statusCode)
    found[name] = (found[name] ?? 0) + 1
  }
  return found
}

const noFailure = (t: Test, { svc, other }: Built) => {
  const lines = [...svc.logs, ...other.logs]
  t.strictSame(
    lines.filter((line) => line.includes('retrying database transaction after a conflict')).slice(0, 2),
    [],
    'no conflict',
  )
  t.strictSame(lines.filter((line) => /"level":"(error|fatal)"/.test(line)).slice(0, 2), [], 'no failure')
}

/** A person whose browser sends the headers of scripts on svc's own origin. */
async function newPerson(svc: TestApp): Promise<Person> {
  const { email } = await svc.createUser()
  const person = new Person(svc.browser({ origin: 'http://localhost:8000' }), email)
  await person.signIn()
  return person
}

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const machine = { grant_type: 'client_credentials', scope: 'orders:read' }

/** Each one-time artefact: many requests use it concurrently, and one of them succeeds. */
const artefacts: Record<string, (built: Built) => Promise<[Record<string, number>, Record<string, number>]>> = {
  'an authorization code': async ({ svc, pick }) => {
    const { code = '' } = response(await (await newPerson(svc)).allow(request('web', scope)))
    return [outcomes(await crowd((i) => redeem(pick(i), 'web', code))), { 200: 1, '400 invalid_grant': size - 1 }]
  },
  'an approved device code': async ({ svc, pick }) => {
    const ada = await newPerson(svc)
    const { device_code, user_code } = (await post(svc, '/oauth/device/code', 'tv', {})).json()
    await ada.decide(await ada.press(await ada.press(await ada.go('/oauth/device'), { user_code }), { confirm: 'yes' }))
    const answers = await crowd((i) => token(pick(i), 'tv', { grant_type: device, device_code }))
    return [outcomes(answers), { 200: 1, '400 invalid_grant': size - 1 }]
  },
  'a pushed authorization request': async ({ svc, pick }) => {
    const ada = await newPerson(svc)
    const fields = { ...request('own', scope), redirect_uri: callback }
    const { request_uri } = (await post(svc, '/oauth/par', 'own', fields)).json()
    const url = `/oauth/authorize?${new URLSearchParams({ client_id: 'own', request_uri })}`
    const cookie = await ada.plain.browser.jar.getCookieString('http://localhost:8000/')
    const answers = await crowd((i) => pick(i).app.inject({ url, headers: { cookie, accept: 'text/html' } }))
    const codes = answers.filter(({ headers }) => new URL(headers.location ?? callback).searchParams.has('code'))
    const unclear = answers.filter(({ statusCode }) => ![303, 400].includes(statusCode))
    return [{ codes: codes.length, ...outcomes(unclear) }, { codes: 1 }]
  },
  'a DPoP proof': async ({ pick }) => {
    const dpop = await proof(key, 'POST', '/oauth/token')
    const payload = new URLSearchParams(machine).toString()
    const headers = { ...form, ...basic('machine'), dpop }
    const answers = await crowd((i) => pick(i).app.inject({ method: 'POST', url: '/oauth/token', headers, payload }))
    // The library answers a replay with this error.
    return [outcomes(answers), { 200: 1, '400 invalid_grant': size - 1 }]
  },
  'a client assertion': async ({ pick }) => {
    const payload = new URLSearchParams({ ...machine, ...(await assertion(key, 'signer')) }).toString()
    const answers = await crowd((i) =>
      pick(i).app.inject({ method: 'POST', url: '/oauth/token', headers: form, payload }),
    )
    return [outcomes(answers), { 200: 1, '401 invalid_client': size - 1 }]
  },
}

for (const store of ['the database', 'Redis']) {
  t.test(`${store} lets one of ${size} requests use each one-time artefact`, async (t) => {
    if (store === 'Redis' && !hasRedis(t)) return
    const built = await build(t, store === 'Redis' ? (await startRedis(t)).url : undefined)
    for (const [name, use] of Object.entries(artefacts)) {
      const [found, wanted] = await use(built)
      t.strictSame(found, wanted, name)
    }
    noFailure(t, built)
  })
}

t.test('issues tokens once for polls during the approval of a device', async (t) => {
  const built = await build(t)
  const { svc, pick } = built
  const ada = await newPerson(svc)
  for (let round = 0; round < 3; round++) {
    const { device_code, user_code } = (await post(svc, '/oauth/device/code', 'tv', {})).json()
    const confirm = await ada.press(await ada.go('/oauth/device'), { user_code })
    const consent = await ada.press(confirm, { confirm: 'yes' })
    const poll = (i: number) => token(pick(i), 'tv', { grant_type: device, device_code })
    const [answers, done] = await Promise.all([crowd(poll), ada.decide(consent)])
    t.match(done.answer.body, 'role="status"', 'the approval')
    const found = outcomes([...answers, ...(await crowd(poll))])
    t.equal(found[200], 1, JSON.stringify(found))
    t.ok(Object.keys(found).every((name) => /^200$|^400 (authorization_pending|slow_down|invalid_grant)$/.test(name)))
  }
  noFailure(t, built)
})

t.test('issues one successor for concurrent refreshes, and revokes the family on later reuse', async (t) => {
  const built = await build(t)
  const { svc, pick } = built
  const ada = await newPerson(svc)
  const { refresh_token } = await codeFlow(svc, ada, 'spa', scope)
  const answers = await crowd((i) => refresh(pick(i), 'spa', refresh_token))
  t.strictSame(outcomes(answers), { 200: size })
  const successors = new Set(answers.map((answer) => answer.json().refresh_token))
  t.equal(successors.size, 1)
  const [successor = ''] = successors
  svc.clock.advance(minute)
  t.strictSame(outcomes(await crowd((i) => refresh(pick(i), 'spa', refresh_token))), { '400 invalid_grant': size })
  t.strictSame(outcomes([await refresh(svc, 'spa', successor)]), { '400 invalid_grant': 1 })
  noFailure(t, built)
})

/** Ways to revoke a token while it is refreshed. */
const ends: Record<string, (built: Built, ada: Person, refreshToken: string) => Promise<LightMyRequestResponse>[]> = {
  'its revocation': ({ pick }, _ada, value) => [0, 1, 2, 3].map((i) => revoke(pick(i), 'spa', value)),
  'the sign-out': (_built, { plain }) => [plain.browser.post('/logout')],
  'the deletion of the account': (_built, { plain }) => [plain.browser.delete('/user')],
}

for (const [name, end] of Object.entries(ends)) {
  t.test(`leaves no valid token after ${name} during refreshes`, async (t) => {
    const built = await build(t)
    const { svc, pick } = built
    for (let round = 0; round < 4; round++) {
      const ada = await newPerson(svc)
      const { refresh_token } = await codeFlow(svc, ada, 'spa', scope)
      await ada.plain.browser.post('/user/confirm-password', { password: 'correct horse' })
      const refreshes = Array.from({ length: 10 }, (_, i) => refresh(pick(i), 'spa', refresh_token))
      const endings = end(built, ada, refresh_token)
      const answers = await Promise.all([
        ...refreshes,
        ...Array.from({ length: 10 }, (_, i) => refresh(pick(i), 'spa', refresh_token)),
      ])
      for (const { statusCode, body } of await Promise.all(endings)) t.equal(statusCode, 200, body)
      const found = outcomes(answers)
      t.ok(
        Object.keys(found).every((one) => /^200$|^400 invalid_grant$/.test(one)),
        JSON.stringify(found),
      )
      for (const answer of answers.filter(({ statusCode }) => statusCode === 200)) {
        const tokens = answer.json()
        t.equal((await refresh(svc, 'spa', tokens.refresh_token)).statusCode, 400)
        if (name !== 'its revocation') {
          t.equal((await svc.bearer(tokens.access_token, 'GET', '/api/user')).statusCode, 401)
        }
      }
      t.equal((await refresh(svc, 'spa', refresh_token)).statusCode, 400)
    }
    noFailure(t, built)
  })
}
