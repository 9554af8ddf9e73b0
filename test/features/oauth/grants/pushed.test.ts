import t from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../../../support/app.ts'
import { minute } from '../../../support/clock.ts'
import {
  callback,
  oauthSettings,
  Person,
  post,
  redeem,
  request,
  response,
  type WalkResult,
} from '../../../support/oauth.ts'
import { hasRedis, startRedis } from '../../../support/redis.ts'
import { stopTime } from '../../../support/time.ts'

const build = (t: Parameters<typeof buildTestApp>[0], settings: Settings = {}): Promise<TestApp> =>
  buildTestApp(t, { settings: { ...oauthSettings, ...settings }, clock: stopTime(t) })

async function push(svc: TestApp): Promise<Record<string, string>> {
  const pushed = await post(svc, '/oauth/par', 'web', {
    ...request('web', { scope: 'openid' }),
    redirect_uri: callback,
  })
  return { client_id: 'web', request_uri: pushed.json().request_uri }
}

/** A signed-in person on the consent page. */
interface Started {
  person: Person
  from: WalkResult
}

async function start(svc: TestApp, query: Record<string, string>): Promise<Started> {
  const person = new Person(svc, (await svc.createUser()).email)
  await person.signIn()
  return { person, from: await person.authorize(query) }
}

async function startTwice(svc: TestApp): Promise<[Started, Started]> {
  const query = await push(svc)
  return [await start(svc, query), await start(svc, query)]
}

const approve = ({ person, from }: Started) => person.press(from, { decision: 'approve' })

/** Lets the pushed request expire and svc delete what has expired. */
async function expire(svc: TestApp): Promise<void> {
  svc.clock.advance(2 * minute)
  await svc.app.oauth.prune()
}

const stores: Record<string, (t: Parameters<typeof buildTestApp>[0]) => Promise<Settings | null>> = {
  'in the database': async () => ({}),
  'in Redis': async (t) => (hasRedis(t) ? { redis: { url: (await startRedis(t)).url } } : null),
}

for (const [where, settingsOf] of Object.entries(stores)) {
  t.test(`grants a pushed request once after it expired, when two browsers started it (${where})`, async (t) => {
    const settings = await settingsOf(t)
    if (!settings) return
    const svc = await build(t, settings)
    const [one, other] = await startTwice(svc)
    await expire(svc)
    t.ok(response(await approve(one)).code, 'a user may take longer than the request is valid')
    const refused = await approve(other)
    t.match(response(refused), { error: 'invalid_request_uri', state: 'the-state', code: undefined })
  })

  t.test(`rejects the second browser after the request was granted and expired (${where})`, async (t) => {
    const settings = await settingsOf(t)
    if (!settings) return
    const svc = await build(t, settings)
    const [one, other] = await startTwice(svc)
    const { code = '' } = response(await approve(one))
    t.equal((await redeem(svc, 'web', code)).statusCode, 200)
    await expire(svc)
    t.match(response(await approve(other)), { error: 'invalid_request_uri', code: undefined })
  })
}

t.test('grants nothing when the pushed request no longer exists', async (t) => {
  const svc = await build(t)
  const started = await start(svc, await push(svc))
  await svc.database.prisma.oauthRecord.deleteMany({ where: { kind: 'PushedAuthorizationRequest' } })
  t.match(response(await approve(started)), { error: 'invalid_request_uri', code: undefined })
})
