import t, { type Test } from 'tap'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import {
  clients,
  codeFlow,
  exchangeClient,
  oauthSettings,
  Person,
  passwordClient,
  post,
  redeem,
  refresh,
  request,
  response,
  token,
} from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
const settings = {
  ...oauthSettings,
  clients: [...clients, passwordClient, exchangeClient],
}

/** Deletes the account right before svc runs a certain statement, the worst possible moment. */
function deleteBefore(svc: TestApp, userId: number, isMoment: (text: string) => boolean) {
  const gone = { done: false }
  const remove = async () => {
    gone.done = true
    await svc.database.prisma.user.deleteMany({ where: { id: BigInt(userId) } })
  }
  const { pg, prisma } = svc.database
  if (pg) {
    const query = pg.query.bind(pg) as (...args: unknown[]) => Promise<unknown>
    Reflect.set(pg, 'query', async (...args: [{ text?: string }]) => {
      if (!gone.done && isMoment(args[0]?.text ?? '')) await remove()
      return query(...args)
    })
  } else {
    const execute = prisma.$executeRawUnsafe.bind(prisma)
    Reflect.set(prisma, '$executeRawUnsafe', async (text: string, ...values: unknown[]) => {
      if (!gone.done && isMoment(text)) await remove()
      return execute(text, ...values)
    })
  }
  return gone
}

const insert = /INSERT INTO oauth_records/
const isInsert = (text: string): boolean => insert.test(text)

async function begin(t: Test) {
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const user = await svc.createUser()
  return { svc, user, ada: new Person(svc, user.email) }
}

t.test('survives the deletion of an account while a code is redeemed', async (t) => {
  const { svc, user, ada } = await begin(t)
  const { code = '' } = response(await ada.allow(request('web', { scope: 'openid orders:read' })))
  const gone = deleteBefore(svc, user.id, isInsert)
  const answer = await redeem(svc, 'web', code)
  t.ok(gone.done)
  t.same([answer.statusCode, answer.json().error], [400, 'invalid_grant'])
})

t.test('survives the deletion of an account while a token is refreshed', async (t) => {
  const { svc, user, ada } = await begin(t)
  const tokens = await codeFlow(svc, ada, 'spa', { scope: 'openid orders:read' })
  const gone = deleteBefore(svc, user.id, isInsert)
  const answer = await refresh(svc, 'spa', tokens.refresh_token)
  t.ok(gone.done)
  t.same([answer.statusCode, answer.json().error], [400, 'invalid_grant'])
})

for (const nth of [1, 2]) {
  t.test(`survives the deletion of an account during the password grant, write ${nth}`, async (t) => {
    const { svc, user } = await begin(t)
    let seen = 0
    const gone = deleteBefore(svc, user.id, (text) => insert.test(text) && ++seen === nth)
    const fields = { grant_type: 'password', username: user.email, password: 'correct horse' }
    const answer = await token(svc, 'legacy', fields)
    t.ok(gone.done)
    t.same([answer.statusCode, answer.json().error], [400, 'invalid_grant'])
  })
}

t.test('survives the deletion of an account while a device is connected', async (t) => {
  const { svc, user, ada } = await begin(t)
  const { device_code, user_code } = (await post(svc, '/oauth/device/code', 'tv', {})).json()
  await ada.signIn()
  const confirm = await ada.press(await ada.go('/oauth/device'), { user_code })
  const consent = await ada.press(confirm, { confirm: 'yes' })
  const gone = deleteBefore(svc, user.id, (text) => /(INSERT INTO|UPDATE) oauth_records/.test(text))
  const answer = await ada.decide(consent)
  t.ok(gone.done)
  t.equal(answer.answer.statusCode, 400)
  const polled = await token(svc, 'tv', { grant_type: deviceGrant, device_code })
  t.equal(polled.statusCode, 400)
})

t.test('survives the deletion of an account while a device fetches its tokens', async (t) => {
  const { svc, user, ada } = await begin(t)
  const { device_code, user_code } = (await post(svc, '/oauth/device/code', 'tv', {})).json()
  await ada.signIn()
  await ada.decide(await ada.press(await ada.press(await ada.go('/oauth/device'), { user_code }), { confirm: 'yes' }))
  const gone = deleteBefore(svc, user.id, isInsert)
  const polled = await token(svc, 'tv', { grant_type: deviceGrant, device_code })
  t.ok(gone.done)
  t.same([polled.statusCode, polled.json().error], [400, 'invalid_grant'])
})

t.test('survives the deletion of an account while a page asks for consent', async (t) => {
  const { svc, user, ada } = await begin(t)
  await ada.signIn()
  const consent = await ada.authorize(request('web', { scope: 'openid orders:read' }))
  t.equal(consent.page, 'Authorize')
  const gone = deleteBefore(svc, user.id, isInsert)
  const { answer } = await ada.press(consent, { decision: 'approve' })
  t.ok(gone.done)
  t.same([answer.statusCode, svc.logs.filter((line) => line.includes('"level":"error"'))], [400, []])
})

for (const [client, moment] of [
  ['web', 'the authorization begins'],
  ['own', 'a first-party client gets its code'],
] as const) {
  t.test(`survives the deletion of an account while ${moment}`, async (t) => {
    const { svc, user, ada } = await begin(t)
    await ada.signIn()
    const gone = deleteBefore(svc, user.id, isInsert)
    const { answer } = await ada.authorize(request(client, { scope: 'openid orders:read' }))
    t.ok(gone.done)
    t.equal(answer.statusCode, 400)
    t.equal(await svc.database.prisma.oauthRecord.count({ where: { kind: { in: ['Grant', 'AuthorizationCode'] } } }), 0)
  })
}

t.test('survives the deletion of an account while a consent is stored', async (t) => {
  const { svc, user, ada } = await begin(t)
  await ada.signIn()
  const consent = await ada.authorize(request('web', { scope: 'openid orders:read' }))
  const { database } = svc
  const transaction = database.transaction.bind(database)
  Reflect.set(database, 'transaction', async (work: Parameters<typeof transaction>[0]) => {
    await database.prisma.user.deleteMany({ where: { id: BigInt(user.id) } })
    return transaction(work)
  })
  const { answer } = await ada.press(consent, { decision: 'approve' })
  t.equal(answer.statusCode, 401)
})
