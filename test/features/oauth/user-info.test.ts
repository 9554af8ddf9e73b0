// engine: none
import type { LightMyRequestResponse } from 'fastify'
import { decodeJwt } from 'jose'
import t from 'tap'
import { UserInfo } from '../../../src/features/oauth/protocol/shortcuts/user-info.ts'
import { seed } from '../../platform/http/odd-requests.ts'
import { buildTestApp, type TestApp, testConfig } from '../../support/app.ts'
import { second } from '../../support/clock.ts'
import { runCommandOn } from '../../support/command.ts'
import { basic, callback, codeFlow, Person, partner, refresh, request, revoke, token } from '../../support/oauth.ts'
import { stopTime, travel } from '../../support/time.ts'
import { newKey, proof } from './clients/parties.ts'
import { otherProcess } from './keys/other-process.ts'
import { userInfoRequest } from './user-info-requests.ts'

const requests = Number(process.env.SVC_TEST_REQUESTS ?? 1_500)
const atOnce = 100

/** Sends a request to the library, although svc could answer it. */
const toLibrary = { 'x-test-library': '1' }

const clients = [
  partner('partner'),
  partner('plain', { scopes: ['stock:read'] }),
  partner('leaving'),
  partner('gateway', { grants: ['token_exchange'], exchange: ['partner'] }),
  partner('machine', { grants: ['client_credentials'] }),
]

const settings = {
  scopes: { 'orders:read': 'See your orders' },
  apis: { stock: { audience: 'https://stock.example', scopes: ['stock:read'] } },
  oauth: { access_token_ttl: '1h' },
  rate_limits: { login: null },
  clients,
}

/** svc with users and a token of every kind. `answered` counts the requests that the library did not see. */
async function open(t: Parameters<typeof buildTestApp>[0]) {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const counts = { answered: 0 }
  const own = UserInfo.prototype.answer
  UserInfo.prototype.answer = async function answer(asked) {
    const found = 'x-test-library' in asked.headers ? null : await own.call(this, asked)
    if (found) counts.answered++
    return found
  }
  t.teardown(() => {
    UserInfo.prototype.answer = own
  })
  return { svc, counts }
}

const all = 'openid profile email roles orders:read offline_access'

async function passwordTokens(svc: TestApp, client: string, username: string, scope: string) {
  const fields = { grant_type: 'password', username, password: 'correct horse', scope }
  const answer = await token(svc, client, fields)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json<{ access_token: string; refresh_token: string }>()
}

const info = (svc: TestApp, access: string, more: Record<string, string> = {}) =>
  svc.app.inject({ url: '/oauth/userinfo', headers: { authorization: `Bearer ${access}`, ...more } })

/** The bytes of an answer. */
const comparable = ({ statusCode, headers, body }: LightMyRequestResponse): string => {
  const { date: _date, 'dpop-nonce': nonce, connection: _connection, ...others } = headers
  return JSON.stringify([statusCode, Object.entries(others).sort(), nonce === undefined, body])
}

t.test('answers UserInfo requests exactly as oidc-provider does', async (t) => {
  const { svc, counts } = await open(t)
  const ada = await svc.createUser({ role: 'editor' })
  const ben = await svc.createUser({ verified: false })
  const ofAda = (scope: string, client = 'partner') => passwordTokens(svc, client, ada.email, scope)
  const [full, revoked, ended, leaving] = [
    await ofAda(all),
    await ofAda(all),
    await ofAda(all),
    await ofAda(all, 'leaving'),
  ]
  const disabled = await passwordTokens(svc, 'partner', ben.email, all)
  const narrow = (await refresh(svc, 'partner', (await ofAda(all)).refresh_token, { scope: 'profile openid' })).json()
  const named = await codeFlow(svc, new Person(svc, ada.email), 'partner', {
    ...request('partner', { redirect_uri: callback, scope: 'openid' }),
    claims: JSON.stringify({ userinfo: { email: null, name: { essential: true } } }),
  })
  const bound = await svc.app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: { ...basic('partner'), dpop: await proof(await newKey('ES256'), 'POST', '/oauth/token') },
    payload: { grant_type: 'refresh_token', refresh_token: (await ofAda(all)).refresh_token },
  })
  t.ok(decodeJwt(bound.json().access_token).cnf)
  const browser = svc.browser()
  await browser.signIn(ada.email)
  const exchange = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: full.access_token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  }
  const exchanged = await token(svc, 'gateway', exchange)
  t.match(exchanged.json(), { access_token: String })
  const bodies = [
    ...['openid', 'openid profile', 'email openid', 'roles openid', 'profile email'].map((scope) => ofAda(scope)),
    ofAda('openid profile stock:read', 'plain'),
    token(svc, 'machine', { grant_type: 'client_credentials' }).then((answer) => answer.json()),
    exchanged.json(),
    browser.post('/oauth/token/fresh', {}).then((answer) => answer.json()),
  ]
  const made: { access_token: string }[] = [full, revoked, ended, leaving, disabled, narrow, named, bound.json()]
  for (const body of bodies) made.push(await body)
  const personal = await browser.post('/oauth/personal-access-tokens', { name: 'Backup', scopes: ['openid'] })
  const tokens = [
    ...made.map(({ access_token }) => access_token),
    String(personal.json().accessToken),
    await svc.createToken(ada),
  ]
  const differences: object[] = []
  const accepted = { own: 0, all: 0 }
  const compare = async (count: number) => {
    for (let i = 0; i < count; i += atOnce) {
      const asked = Array.from({ length: atOnce }, () => userInfoRequest(tokens))
      const send = (more: object) =>
        Promise.all(asked.map((one) => svc.app.inject({ ...one, headers: { ...one.headers, ...more } })))
      const [ours, theirs] = [await send({}), await send(toLibrary)]
      for (const [j, answer] of ours.entries()) {
        const other = theirs[j]
        if (answer.statusCode === 200) accepted.all++
        if (!other || comparable(answer) !== comparable(other))
          differences.push({ request: asked[j], ours: comparable(answer), theirs: other && comparable(other) })
      }
    }
  }
  await compare(requests / 2)
  t.equal((await revoke(svc, 'partner', revoked.access_token)).statusCode, 200)
  t.equal((await revoke(svc, 'partner', ended.refresh_token)).statusCode, 200)
  await svc.database.prisma.user.update({ where: { id: ben.id }, data: { disabledAt: new Date() } })
  await svc.database.prisma.user.update({ where: { id: ada.id }, data: { email: 'new@example.com', role: 'reader' } })
  svc.config.swap({ ...svc.config.current(), clients: withoutLeaving() })
  await compare(requests / 2)
  t.same(differences.slice(0, 3), [], `seed ${seed}`)
  accepted.own = counts.answered
  t.ok(accepted.own > requests / 8, `svc answered ${accepted.own} requests`)
  t.ok(accepted.all > accepted.own, `the library accepted ${accepted.all - accepted.own} other requests`)
})

const withoutLeaving = () =>
  testConfig({ ...settings, clients: clients.filter(({ client_id }) => client_id !== 'leaving') }).current().clients

t.test('checks the token, its grant and its user on every request', async (t) => {
  const { svc, counts } = await open(t)
  const status = async (access: string) => {
    const before = counts.answered
    const [ours, theirs] = [await info(svc, access), await info(svc, access, toLibrary)]
    t.equal(comparable(ours), comparable(theirs))
    return ours.statusCode === 200 && counts.answered === before ? 'by the library' : ours.statusCode
  }
  const ends: Record<
    string,
    (made: { access_token: string; refresh_token: string }, email: string) => Promise<unknown>
  > = {
    'the token is revoked': ({ access_token }) => revoke(svc, 'partner', access_token),
    'its grant ends': ({ refresh_token }) => revoke(svc, 'partner', refresh_token),
    'its refresh token is used again': async ({ refresh_token }) => {
      await refresh(svc, 'partner', refresh_token)
      travel(svc, 11_000)
      await refresh(svc, 'partner', refresh_token)
    },
    'the user is disabled': (_made, email) =>
      svc.database.prisma.user.update({ where: { email }, data: { disabledAt: new Date() } }),
    'the user is deleted': (_made, email) => svc.database.prisma.user.delete({ where: { email } }),
    'it expires': async () => travel(svc, 3_600_000),
  }
  for (const [name, end] of Object.entries(ends)) {
    const { email } = await svc.createUser()
    const made = await passwordTokens(svc, 'partner', email, all)
    t.equal(await status(made.access_token), 200, `before ${name}`)
    await end(made, email)
    t.equal(await status(made.access_token), 401, `after ${name}`)
  }
  const { email } = await svc.createUser()
  const left = await passwordTokens(svc, 'leaving', email, all)
  const stays = await passwordTokens(svc, 'partner', email, all)
  t.equal(await status(left.access_token), 200)
  svc.config.swap({ ...svc.config.current(), clients: withoutLeaving() })
  t.equal(await status(left.access_token), 401, 'its client is removed')
  t.equal(await status(stays.access_token), 200, 'a reload leaves other clients')
  const { signature, rest } = /^(?<rest>.*\.)(?<signature>[^.]+)$/.exec(stays.access_token)?.groups ?? {}
  t.equal(await status(`${rest}${signature?.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`), 401)
  const { ring, sign } = await otherProcess(t, svc)
  await runCommandOn(svc, 'keys:rotate', '--withdraw')
  travel(svc, 31 * second)
  await ring.refresh()
  t.equal(await status(await sign(decodeJwt(stays.access_token))), 200, 'svc looks for an unknown key')
  t.equal(await status(stays.access_token), 401, 'its key is withdrawn')
})
